"""Loops of everyday kinds, made by small programs: nothing that comes after their beginning says anything new.

Each maker takes a seeded Random; `STUCK` tells the channels that it belongs to, and how much healthy text stands before.
"""

# ruff: noqa: E501, B007, C416  (recipes of one line each read best unbroken)
from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from .everyday import ADJ, CITY, FIRST, LAST, NOUN, S


class Stuck(NamedTuple):
    """One kind of loop."""

    make: Callable[[Random], str]
    channels: str
    lead: int
    """Characters of healthy text before the loop."""


STUCK: dict[str, Stuck] = {}


def loop(channels: str = "tr", lead: int = 300):
    """Note a maker under its name."""

    def noted(make: Callable[[Random], str]) -> Callable[[Random], str]:
        STUCK[make.__name__] = Stuck(make, channels, lead)
        return make

    return noted


# fmt: off

def para(r, k):
    return ' '.join(S(r) for _ in range(k))

@loop()
def sentence(r: Random) -> str: return (S(r) + ' ') * 60

@loop()
def two_sentences(r: Random) -> str: return (S(r) + ' ' + S(r) + '\n') * 50

@loop()
def paragraph(r: Random) -> str: return (para(r, 7) + '\n\n') * 14

@loop()
def paragraph_long(r: Random) -> str: return (para(r, 18) + '\n\n') * 9

@loop()
def drift_para(r: Random) -> str:
    p = [S(r) for _ in range(6)]
    out = []
    for _ in range(20):
        q = p[:]
        i = r.randrange(6)
        w = q[i].split()
        w[r.randrange(len(w))] = r.choice(ADJ)
        q[i] = ' '.join(w)
        out.append(' '.join(q))
    return '\n\n'.join(out)

@loop()
def shuffle_para(r: Random) -> str:
    p = [S(r) for _ in range(7)]
    out = []
    for _ in range(25):
        r.shuffle(p)
        out.append(' '.join(p))
    return '\n\n'.join(out)

@loop()
def slots(r: Random) -> str:
    N = FIRST[:12]
    C = CITY[:9]
    return '\n'.join(f'{r.choice(N)} went to {r.choice(C)} and met {r.choice(N)}, who had also come to {r.choice(C)} to see the old market.' for _ in range(80))

@loop()
def counter_template(r: Random) -> str: return '\n'.join(f'Step {i}: Make sure that the configuration is correct and that the service is running before you continue.' for i in range(1, 120))

@loop()
def counter_heading(r: Random) -> str: return '\n\n'.join(f'## Chapter {i}: The Journey Continues\n\nIn this chapter, our heroes continue their journey and face new challenges. They learn the value of friendship and courage along the way.' for i in range(1, 60))

@loop()
def day_template(r: Random) -> str: return '\n\n'.join(f'**Day {i}:** Start the day with a healthy breakfast, then explore the city and enjoy the local food. In the evening, relax at the hotel.' for i in range(1, 60))

@loop()
def one_title(r: Random) -> str: return '\n'.join(f'{i}. The Great Gatsby by F. Scott Fitzgerald' for i in range(1, 160))

@loop()
def title_bold(r: Random) -> str: return '\n'.join(f'{i}. **Improve communication**: Encourage open communication within the team.' for i in range(1, 120))

@loop()
def list_round(r: Random) -> str:
    t = [f'{r.choice(ADJ).title()} {n.title()}' for n in r.sample(NOUN, 9)]
    return '\n'.join(f'{i + 1}. {t[i % 9]}' for i in range(260))

@loop()
def list_growing(r: Random) -> str:
    base = [n for n in NOUN[:12]]
    return '\n'.join(', '.join(base[:6] + ['tea'] * k) for k in range(1, 60))

@loop()
def growing_phrase(r: Random) -> str: return '\n'.join('It is very ' + 'very ' * k + 'good.' for k in range(1, 50))

@loop()
def csv_words(r: Random) -> str: return ', '.join(r.choice(NOUN[:9]) for _ in range(900))

@loop()
def hashtags(r: Random) -> str: return ' '.join('#' + r.choice(['love', 'instagood', 'photooftheday', 'fashion', 'beautiful', 'happy', 'cute', 'tbt', 'like4like', 'followme']) for _ in range(500))

@loop('r')
def reconsider(r: Random) -> str: return '\n\n'.join(r.choice(['Wait, maybe I should check again.', 'Hmm, let me reconsider.', 'Wait, actually.', 'But wait.']) + ' The problem says that the train leaves at noon. So the speed is 60. ' + r.choice(['That seems right.', 'So the answer is 120.', 'Hmm, that does not look right.']) for _ in range(70))

@loop('r')
def reconsider2(r: Random) -> str: return '\n\n'.join('Wait, but the question asks for the number of ways. Let me think again. If we choose the first, then there are three options for the second. So in total there are 12. But that is not correct because the order matters.' for _ in range(30))

@loop('r')
def reconsider3(r: Random) -> str: return '\n'.join(f"Alternatively, maybe the {r.choice(['user', 'question', 'author'])} wants {r.choice(['the sum', 'the product', 'the count', 'the list'])}. But {r.choice(['that is unclear', 'I am not sure', 'it is ambiguous'])}. Let me re-read the question." for _ in range(90))

@loop('r')
def recompute(r: Random) -> str: return '\n'.join('So 17 * 23 = 391. Let me verify: 17 * 20 = 340, 17 * 3 = 51, 340 + 51 = 391. Yes, 391.' for _ in range(60))

@loop('r')
def plan_again(r: Random) -> str: return '\n\n'.join('I need to update the file. First I will read the file, then I will make the change, then I will run the tests. Let me start by reading the file.' for _ in range(40))

@loop('a')
def json_rows(r: Random) -> str: return '{"path": "a.json", "content": "[' + ', '.join('{\\"id\\": 1, \\"name\\": \\"test\\", \\"value\\": 0}' for _ in range(600))

@loop('a')
def json_rows_counter(r: Random) -> str: return '{"path": "a.json", "content": "[' + ', '.join(f'{{\\"id\\": {i}, \\"name\\": \\"item{i}\\", \\"value\\": {i}}}' for i in range(1500))

@loop('a')
def json_structure(r: Random) -> str: return '{"edits": [' + ', '.join('{"old": "foo", "new": "bar"}' for _ in range(400))

@loop('a')
def json_nest(r: Random) -> str: return '{"a": ' * 900

@loop('a')
def args_prose(r: Random) -> str: return '{"path": "s.md", "content": "' + 'The quick brown fox jumped over the fence and ran away. ' * 120

@loop('a')
def args_shell_loop(r: Random) -> str: return '{"command": "' + 'echo done && ' * 500

@loop('a')
def args_newlines(r: Random) -> str: return '{"path": "s.md", "content": "hello' + '\\n' * 3000

@loop('a')
def args_ws(r: Random) -> str: return '{"path": "s.md"' + ' ' * 3000

@loop('a')
def args_code(r: Random) -> str: return '{"path": "s.py", "content": "' + ''.join(f'def test_{i}():\\n    assert add({i}, {i}) == {2 * i}\\n\\n' for i in range(1, 700))

@loop()
def qa(r: Random) -> str: return '\n'.join('User: Can you help me with my order?\nAssistant: Of course! Can you tell me your order number?' for _ in range(50))

@loop()
def qa_drift(r: Random) -> str: return '\n\n'.join(f'Question: What is the capital of {r.choice(CITY[:5])}?\nAnswer: The capital is {r.choice(CITY[:5])}.' for _ in range(130))

@loop()
def code_counter(r: Random) -> str: return '\n\n'.join(f"def test_case_{i}():\n    result = process(data)\n    assert result is not None\n    assert result.status == 'ok'" for i in range(1, 110))

@loop()
def code_vars(r: Random) -> str: return '\n'.join(f'    private String column{i};' for i in range(1, 500))

@loop()
def code_same(r: Random) -> str: return '\n'.join('        if (node.left != null) { stack.push(node.left); }' for _ in range(150))

@loop()
def code_else(r: Random) -> str: return '\n'.join(f'    elif x == {i}:\n        return {i}' for i in range(1, 400))

@loop()
def imports(r: Random) -> str: return '\n'.join(f"import {r.choice(['os', 'sys', 'json', 're'])}" for _ in range(500))

@loop()
def emoji_one(r: Random) -> str: return '🎉' * 1500

@loop()
def emoji_mix(r: Random) -> str: return ''.join(r.choice('🎉🎊🥳✨') for _ in range(1800))

@loop()
def emoji_phrase(r: Random) -> str: return 'Congratulations! 🎉🎊 Well done! 🥳 ' * 120

@loop()
def mixed(r: Random) -> str: return '这个问题很好。This is a good question. これは良い質問です。 ' * 90

@loop()
def chinese(r: Random) -> str: return '我们需要继续努力，为了更好的明天而奋斗。' * 150

@loop()
def chinese_drift(r: Random) -> str: return ''.join(f"在{r.choice('春夏秋冬')}天，我喜欢和{r.choice(['朋友', '家人', '同学'])}一起去{r.choice(['公园', '海边', '山上'])}玩，感到非常开心。" for _ in range(160))

@loop()
def japanese(r: Random) -> str: return '\n'.join(f'{i}. お客様のご要望にお応えするため、サービスの改善に努めてまいります。' for i in range(1, 120))

@loop()
def arabic(r: Random) -> str: return 'إن هذا الأمر مهم جدا ويجب علينا أن نعمل معا من أجل تحقيقه. ' * 90

@loop()
def russian(r: Random) -> str: return '\n'.join(f'{i}. Необходимо повысить качество обслуживания клиентов и улучшить работу отдела.' for i in range(1, 120))

@loop()
def hindi(r: Random) -> str: return 'यह एक महत्वपूर्ण विषय है और हमें इस पर ध्यान देना चाहिए। ' * 100

@loop()
def korean(r: Random) -> str: return '이 문제를 해결하기 위해서는 모두의 노력이 필요합니다. ' * 120

@loop()
def newlines(r: Random) -> str: return '\n' * 2500

@loop()
def spaces(r: Random) -> str: return ' ' * 2500

@loop()
def nbsp(r: Random) -> str: return '\xa0\n' * 1500

@loop()
def dots(r: Random) -> str: return '.' * 2500

@loop()
def dashes(r: Random) -> str: return '-' * 2500

@loop()
def token(r: Random) -> str: return 'ing' * 1500

@loop(lead=9000)
def token_late(r: Random) -> str: return ' the' * 1500

@loop(lead=9000)
def sentence_late(r: Random) -> str: return (S(r) + ' ') * 60

@loop(lead=9000)
def noise(r: Random) -> str: return ''.join(r.choice([' and', ' or', ' the', ',']) for _ in range(2500))

@loop()
def brackets(r: Random) -> str: return ')]}' * 1500

@loop()
def growing_brackets(r: Random) -> str: return '\n'.join('f(' * k + 'x' + ')' * k for k in range(1, 70))

@loop()
def zeros(r: Random) -> str: return '0' * 4000

@loop()
def decimal(r: Random) -> str: return '0.333333' + '3' * 4000

@loop()
def formula(r: Random) -> str: return '\n'.join(f'$x_{{{i}}} = x_{{{i - 1}}} + 1$' for i in range(1, 500))

@loop()
def table_row(r: Random) -> str: return '\n'.join('| Item | Description | 10 |' for _ in range(250))

@loop()
def table_counter(r: Random) -> str: return '| No | Name | Status |\n|---|---|---|\n' + '\n'.join(f'| {i} | Product | Available |' for i in range(1, 400))

@loop()
def dividers(r: Random) -> str: return '\n'.join('-' * 60 for _ in range(120))

@loop()
def apology(r: Random) -> str: return '\n\n'.join('I apologize for the confusion. Let me correct that. Here is the updated version:' for _ in range(90))

@loop()
def redraft(r: Random) -> str:
    d = [S(r) for _ in range(7)]
    out = []
    for k in range(14):
        q = d[:]
        q[r.randrange(7)] = S(r)
        out.append(r.choice(['Here is an improved version:', 'Here is a refined version:', 'Final version:']) + '\n\n' + ' '.join(q))
    return '\n\n'.join(out)

@loop()
def story_then(r: Random) -> str: return ' '.join(f"And then the {r.choice(['boy', 'girl', 'dog', 'cat'])} {r.choice(['ran', 'walked', 'jumped'])} to the {r.choice(['house', 'tree', 'river'])}." for _ in range(170))

@loop()
def html_div(r: Random) -> str: return '<div><span></span></div>\n' * 250

@loop()
def html_open(r: Random) -> str: return '<div class="container">\n' * 250

@loop()
def url(r: Random) -> str: return 'https://example.com/' + 'a/b/c/' * 600

@loop()
def names(r: Random) -> str: return ', '.join(r.choice(FIRST[:14]) + ' ' + r.choice(LAST[:5]) for _ in range(400))

@loop()
def end_marks(r: Random) -> str: return '<|im_end|>\n<|im_start|>assistant\n' * 120

@loop()
def answer_is(r: Random) -> str: return 'The answer is 42.\n\n**Final Answer**\n\\boxed{42}\n\n' * 90

@loop()
def thanks(r: Random) -> str: return '\n'.join(r.choice(['Thank you!', "You're welcome!", 'Have a great day!', 'Goodbye!', 'Take care!']) for _ in range(300))

@loop()
def translate(r: Random) -> str: return '\n'.join('English: Good morning. French: Bonjour. German: Guten Morgen.' for _ in range(90))

@loop()
def legal(r: Random) -> str: return '\n'.join(f'{i}. The Company shall not be liable for any damages arising out of the use of the Service.' for i in range(1, 90))
