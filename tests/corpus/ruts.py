"""Loops of less usual kinds: numbers that move, words that are exchanged, two sentences in turn, languages that change,
calls, thinking that doubts itself. As in `stuck`: each maker takes a seeded Random; `RUTS` tells the channels and how
much healthy text stands before.
"""

# ruff: noqa: E501  (recipes of one line each read best unbroken)
from __future__ import annotations

from collections.abc import Callable
from random import Random

from .stuck import Stuck

RUTS: dict[str, Stuck] = {}


def loop(channels: str = "tr", lead: int = 300):
    """Note a maker under its name."""

    def noted(make: Callable[[Random], str]) -> Callable[[Random], str]:
        RUTS[make.__name__] = Stuck(make, channels, lead)
        return make

    return noted


def clock(i: int, step: int = 3) -> str:
    """Minutes and seconds that move on."""
    return f"{i * step // 60 % 60:02d}:{i * step % 60:02d}"


def drawn(r: Random, *said: str, count: int = 90) -> str:
    """These sentences in any order."""
    return "".join(r.choice(said) for _ in range(count))


# fmt: off
@loop('t')
def captions_zh(r): return ''.join(f'{i}\n00:{clock(i)},{r.randint(0, 999):03d} --> 00:{clock(i + 1)},{r.randint(0, 999):03d}\n感谢您的观看。\n\n' for i in range(1, 400))

@loop('t')
def captions_line(r): return ''.join(f'[{clock(i)}.{r.randint(0, 999):03d} --> {clock(i + 1)}.{r.randint(0, 999):03d}]  Please subscribe to the channel.\n' for i in range(1, 400))

@loop('t')
def captions_ja(r): return ''.join(f'[{clock(i)}.{r.randint(0, 999):03d} --> {clock(i + 1)}.{r.randint(0, 999):03d}]  ご視聴ありがとうございました\n' for i in range(1, 400))

@loop('tr')
def clock_waits(r): return ''.join(f'12:{i // 9 % 60:02d}:{i * 7 % 60:02d} - Still waiting for the job to finish.\n' for i in range(400))

@loop('tr')
def line_numbers(r): return ''.join(f'I should look at line {r.randint(1, 999)} of the parser again. ' for _ in range(700))

@loop('tr')
def retries_random(r): return ''.join(f'The request failed with code {r.randint(400, 599)}, so I will send it once more.\n' for _ in range(600))

@loop('tr')
def two_in_turn(r): return 'Maybe the index is off by one, so I subtract one from it. No, then the last element is lost, so I add one to it again. ' * 30

@loop('tr')
def three_in_turn_nl(r): return 'Misschien ligt het aan de cache, dus ik leeg die eerst. Dat verandert niets aan de uitkomst van de test. Dan begin ik weer van voren af aan. ' * 30

@loop('tr')
def synonyms(r): return ''.join(f'It is {r.choice(["very", "really", "truly", "quite"])} {r.choice(["important", "essential", "crucial", "vital"])} to {r.choice(["remember", "note", "understand", "recall"])} that safety comes first. ' for _ in range(120))

@loop('tr')
def synonyms_es(r): return ''.join(f'Es {r.choice(["muy", "realmente", "sumamente"])} {r.choice(["importante", "esencial", "necesario"])} {r.choice(["recordar", "saber", "entender"])} que la seguridad es lo primero. ' for _ in range(120))

@loop('tr')
def languages(r): return 'I am sorry, I cannot do that. Es tut mir leid, das kann ich nicht tun. Je suis désolé, je ne peux pas faire cela. Lo siento, no puedo hacer eso. ' * 25

@loop('tr')
def languages_mixed(r): return drawn(r, 'Let me check that again. ', 'Ich prüfe das noch einmal. ', 'Je vérifie encore une fois. ', 'Voy a comprobarlo otra vez. ', 'Controllo di nuovo tutto. ', count=150)

@loop('tr')
def staircase(r): return ''.join(' ' * (i % 40) + 'and then we go one step further down the stairs\n' for i in range(80))

@loop('tr')
def quoted_deeper(r): return ''.join('> ' * (i % 30 + 1) + 'I agree with what you said above.\n' for i in range(90))

@loop('r')
def wait_actually(r): return 'Wait, actually, the sum is 42. Let me recompute: 40 plus 2 is 42. Hmm, but what about the carry? Wait, actually, the carry is zero. ' * 20

@loop('r')
def hmm_no(r): return drawn(r, 'Hmm, no. ', 'Wait. ', 'Actually, let me reconsider. ', 'Let me think again. ', 'But is that right? ', 'OK so. ', count=260)

@loop('r')
def think_steps(r): return ''.join(f'Step {i}: check whether the user wants JSON. The user wants JSON. So I should answer in JSON.\n' for i in range(1, 80))

@loop('r')
def think_zh(r): return '等等，让我再想一想。这个答案好像不对。我需要重新检查一下条件。' * 40

@loop('r')
def think_zh_mixed(r): return drawn(r, '等等，让我再想一想。', '这个答案好像不对。', '我需要重新检查一下条件。', '首先看第一个条件。', '再看第二个条件。', count=160)

@loop('r')
def think_ja(r): return drawn(r, 'もう一度確認します。', 'しかし、この結果は正しくないようです。', '最初から考え直しましょう。', 'では、条件を整理します。', count=140)

@loop('r')
def think_ru(r): return drawn(r, 'Подождите, проверю ещё раз. ', 'Нет, здесь ошибка в знаке. ', 'Начнём сначала и перепишем условие. ', 'Теперь подставим значение. ', count=110)

@loop('r')
def think_indented(r): return drawn(r, '  - Option A would break the tests.\n', '  - Option B would need a migration.\n', '    - So maybe option A after all?\n', '  - But the tests are what counts.\n', count=110)

@loop('r')
def think_verify(r): return ''.join(f'Let me verify: f({r.randint(1, 9)}) should equal the expected value, and it does. Good. Let me verify once more to be safe. ' for _ in range(90))

@loop('tr')
def bold_headings(r): return ''.join(f'## {i}. Conclusion\n\nIn conclusion, it depends on your needs and your budget.\n\n' for i in range(1, 70))

@loop('tr')
def final_answers(r): return ''.join(f'**Final Answer {r.choice(["(revised)", "(corrected)", "(final)", ""])}:** The capital of Australia is Canberra.\n\n' for _ in range(70))

@loop('tr')
def note_that(r): return drawn(r, 'Note: this is only a sketch of the solution. ', 'Please note that results may differ. ', 'Note that this is only an example. ', count=90)

@loop('tr')
def hopes(r): return drawn(r, 'I hope this helps! ', 'Let me know if you have questions. ', 'Feel free to ask for more. ', 'Have a great day! ', count=130)

@loop('tr')
def roles(r): return 'User: Can you help me?\nAssistant: Of course, what do you need?\n' * 40

@loop('tr')
def roles_drift(r): return ''.join(f'User: {r.choice(["Thanks", "Thank you", "Great", "OK"])}!\nAssistant: You are welcome! {r.choice(["Anything else?", "Is there anything else?", "How else can I help?"])}\n' for _ in range(90))

@loop('tr')
def citations(r): return ''.join(f'[{i}] Smith, J. (2019). Deep learning for text. Journal of Machine Learning, 12(3).\n' for i in range(1, 170))

@loop('tr')
def sources_round(r): return ''.join(f'{i}. {["Nature", "Science", "Cell", "The Lancet"][i % 4]} reports that the vaccine is safe and effective for most adults.\n' for i in range(1, 120))

@loop('tr')
def days_round(r): return ''.join(f'Day {i}: Wake up, stretch for ten minutes, drink a glass of water and write down one thing that went well.\n' for i in range(1, 200))

@loop('tr')
def bullet_same(r): return '- Improve communication skills\n- Improve teamwork skills\n- Improve leadership skills\n' * 30

@loop('tr')
def bullet_drift(r): return ''.join(f'- Improve your {r.choice(["communication", "teamwork", "leadership", "listening", "writing"])} skills by practising every day\n' for _ in range(90))

@loop('tr')
def tables_round(r): return '| Plan | Price | Users |\n|---|---|---|\n| Basic | $10 | 1 |\n| Pro | $20 | 5 |\n\n' * 30

@loop('tr')
def poem_stuck(r): return 'The wind is in the willow tree,\nthe wind is calling out to me,\n' * 40

@loop('tr')
def growing_line(r): return ''.join('She was very' + ', very' * (i % 50) + ' tired.\n' for i in range(60))

@loop('tr')
def letters_away(r): return ''.join(r.choice(['la ', 'na ', 'da ']) for _ in range(1400))

@loop('tr')
def laugh(r): return 'ha' * 900

@loop('tr')
def long_word(r): return 'unter' * 300

@loop('tr')
def signs(r): return '!?' * 400

@loop('tr')
def emoji_turn(r): return '🎉🥳✨' * 150

@loop('tr')
def korean_turn(r): return '다시 한번 확인해 보겠습니다. 결과가 여전히 같습니다. ' * 40

@loop('tr')
def thai(r): return 'ขอตรวจสอบอีกครั้งหนึ่ง ผลลัพธ์ยังเหมือนเดิม ' * 40

@loop('tr')
def hindi_turn(r): return 'मैं एक बार फिर जाँच करता हूँ। परिणाम वही है। ' * 40

@loop('tr')
def arabic_mixed(r): return drawn(r, 'سأتحقق من الملف مرة أخرى. ', 'النتيجة لم تتغير بعد. ', 'لذلك سأبدأ من البداية. ', count=110)

@loop('tr')
def french_redraft(r): return ''.join(f'Version {i} améliorée : Le chat dort sur le canapé pendant que la pluie tombe doucement sur les toits de la ville endormie.\n\n' for i in range(2, 60))

@loop('tr')
def code_prints(r): return '    print("done")\n' * 200

@loop('tr')
def code_ifs(r): return ''.join(f'    elif value == "{r.choice(["yes", "no", "maybe"])}":\n        return "{r.choice(["yes", "no", "maybe"])}"\n' for _ in range(200))

@loop('tr')
def code_pass(r): return 'try:\n    run()\nexcept Exception:\n    pass\n\n' * 60

@loop('tr')
def sql_again(r): return 'SELECT * FROM users WHERE id = 1;\n' * 80

@loop('tr')
def closing_tags(r): return '</div>\n</div>\n</section>\n' * 90

@loop('tr')
def latex_sum(r): return '\\frac{a}{b} + ' * 160

@loop('tr')
def proof_round(r): return 'Since x is even, x equals 2k for some k. Since 2k is even, x is even. Therefore the claim follows from the claim. ' * 30

@loop('a')
def call_commands(r): return '{"command": "' + 'cd /app && make test && ' * 200 + '"}'

@loop('a')
def call_story(r): return '{"content": "' + 'And so the old king went back to his castle and waited for the messenger to return. ' * 60 + '"}'

@loop('a')
def call_story_drift(r): return '{"content": "' + drawn(r, 'The king waited in his hall for news. ', 'No messenger came down the road. ', 'So he asked the guard once more. ', 'The guard had seen nobody at all. ', count=200) + '"}'

@loop('a')
def call_structure(r): return '{"todos": [' + '{"content": "Fix the bug", "status": "pending"}, ' * 90

@loop('a')
def call_thought(r): return '{"thought": "' + 'I need to read the file first. Then I need to edit the file. ' * 70 + '"}'

@loop('a')
def call_zh(r): return '{"content": "' + '今天天气很好，我们一起去公园散步吧。' * 120 + '"}'

@loop('tr', 1500)
def essay_again(r):
    essay = 'Cities grow where roads meet and people trade what they make. A harbour brings goods from far away, and with them come words, recipes and songs. Over time the market moves from the quay to the square, and the square becomes the heart of the town. Yet every growth has its price: rents rise, the old shops close, and those who built the place can no longer live in it. A wise council therefore plans for both, for those who come and for those who stay. '
    return ''.join(f'{["In short, ", "Once more, ", "To repeat, ", "As I said, "][i % 4]}{essay}\n\n' for i in range(12))
# fmt: on
