"""More loops, of what agents write and think when they are stuck: nothing after their beginning says anything new.

As in `stuck`: each maker takes a seeded Random; `TREADMILL` tells the channels and how much healthy text stands before.
"""

# ruff: noqa: E501  (recipes of one line each read best unbroken)
from __future__ import annotations

from collections.abc import Callable
from random import Random

from .everyday import ADJ, FIRST, NOUN, S
from .stuck import Stuck

TREADMILL: dict[str, Stuck] = {}


def loop(channels: str = "tr", lead: int = 300):
    """Note a maker under its name."""

    def noted(make: Callable[[Random], str]) -> Callable[[Random], str]:
        TREADMILL[make.__name__] = Stuck(make, channels, lead)
        return make

    return noted


# fmt: off
SAID = {
    'es': ('Voy a comprobar el archivo otra vez para estar seguro. ', 'El resultado no ha cambiado, así que lo intento de nuevo. ', 'Primero leo la configuración y después ejecuto las pruebas. '),
    'fr': ('Je vais vérifier le fichier encore une fois pour être sûr. ', 'Le résultat est le même, donc je recommence depuis le début. ', 'D’abord je lis la configuration, puis je lance les tests. '),
    'de': ('Ich sehe mir die Datei noch einmal an, um sicher zu sein. ', 'Das Ergebnis ist dasselbe, also fange ich von vorne an. ', 'Zuerst lese ich die Einstellungen, dann starte ich die Tests. '),
    'pt': ('Vou verificar o arquivo mais uma vez para ter certeza. ', 'O resultado é o mesmo, então começo de novo. ', 'Primeiro leio a configuração e depois executo os testes. '),
    'it': ('Controllo il file ancora una volta per essere sicuro. ', 'Il risultato è lo stesso, quindi ricomincio da capo. ', 'Prima leggo la configurazione, poi lancio le prove. '),
    'nl': ('Ik kijk nog een keer naar het bestand om zeker te zijn. ', 'Het resultaat is hetzelfde, dus begin ik opnieuw. ', 'Eerst lees ik de instellingen, daarna draai ik de tests. '),
    'pl': ('Sprawdzę plik jeszcze raz, żeby mieć pewność. ', 'Wynik jest taki sam, więc zaczynam od początku. ', 'Najpierw czytam ustawienia, a potem uruchamiam testy. '),
    'tr': ('Emin olmak için dosyaya bir kez daha bakıyorum. ', 'Sonuç aynı, bu yüzden baştan başlıyorum. ', 'Önce ayarları okuyorum, sonra testleri çalıştırıyorum. '),
    'vi': ('Tôi sẽ kiểm tra tệp một lần nữa cho chắc chắn. ', 'Kết quả vẫn như cũ, vì vậy tôi bắt đầu lại. ', 'Trước tiên tôi đọc cấu hình rồi chạy các bài kiểm tra. '),
    'uk': ('Я ще раз перевірю файл, щоб бути певним. ', 'Результат той самий, тому починаю спочатку. ', 'Спершу читаю налаштування, потім запускаю тести. '),
    'el': ('Θα ελέγξω το αρχείο ακόμη μία φορά για να είμαι σίγουρος. ', 'Το αποτέλεσμα είναι το ίδιο, άρα ξεκινώ από την αρχή. ', 'Πρώτα διαβάζω τις ρυθμίσεις και μετά τρέχω τις δοκιμές. '),
    'he': ('אבדוק את הקובץ פעם נוספת כדי להיות בטוח. ', 'התוצאה זהה ולכן אני מתחיל מההתחלה. ', 'קודם אקרא את ההגדרות ואז אריץ את הבדיקות. '),
    'fa': ('یک بار دیگر پرونده را بررسی می‌کنم تا مطمئن شوم. ', 'نتیجه همان است، پس از اول شروع می‌کنم. ', 'اول تنظیمات را می‌خوانم و بعد آزمون‌ها را اجرا می‌کنم. '),
    'sv': ('Jag kontrollerar filen en gång till för att vara säker. ', 'Resultatet är detsamma, så jag börjar om från början. ', 'Först läser jag inställningarna, sedan kör jag testerna. '),
    'id': ('Saya akan memeriksa berkas sekali lagi agar yakin. ', 'Hasilnya tetap sama, jadi saya mulai dari awal. ', 'Pertama saya membaca pengaturan lalu menjalankan tes. '),
}

def in_order(said):
    return lambda r: ''.join(said) * 25

def mixed(said):
    return lambda r: ''.join(r.choice(said) for _ in range(80))

for _name, _said in SAID.items():
    TREADMILL[f'said_{_name}'] = Stuck(in_order(_said), 'tr', 300)
    TREADMILL[f'mixed_{_name}'] = Stuck(mixed(_said), 'tr', 300)

@loop('t')
def migration_again(r):
    return '-- add the column\nALTER TABLE customers ADD COLUMN status text NOT NULL DEFAULT \'new\';\nCREATE INDEX idx_customers_status ON customers (status);\n\n' * 40

@loop('t')
def manifest_again(r):
    return 'apiVersion: v1\nkind: Service\nmetadata:\n  name: ledger\nspec:\n  selector: {app: ledger}\n  ports: [{port: 8080}]\n---\n' * 40

@loop('t')
def subtitle_again(r):
    return ''.join(f'{i}\n00:{i // 20:02d}:{i * 3 % 60:02d},000 --> 00:{i // 20:02d}:{i * 3 % 60 + 2:02d},500\nThank you for watching.\n\n' for i in range(1, 500))

@loop('t')
def event_again(r):
    return 'BEGIN:VEVENT\nSUMMARY:Weekly meeting of the harbour group\nLOCATION:Room 4\nDTSTART:20261130T090000Z\nEND:VEVENT\n' * 40

@loop('t')
def pgn_shuffle(r):
    return ' '.join(f'{i}. Ng1 Ng8 {i + 1}. Nf3 Nf6' for i in range(10, 900, 2))

@loop('t')
def bib_again(r):
    return '@article{wright2003,\n  author = {Wright, Anna},\n  title = {The quiet harbour},\n  journal = {Journal of Ropes},\n  year = {2003}\n}\n\n' * 40

@loop('t')
def route_again(r):
    return '  /orders/{id}:\n    get:\n      summary: Get an order by its id\n      responses:\n        "200": {description: The order}\n' * 40

@loop('t')
def css_again(r):
    return '.card {\n  display: grid;\n  grid-template-columns: 1fr 1fr;\n  gap: 12px;\n  padding: 16px;\n}\n\n' * 50

@loop('t')
def latex_again(r):
    return 'Harbour rope & 12.4 & 11.0 & 34\\% \\\\\nCopper lantern & 9.1 & 8.7 & 22\\% \\\\\n' * 60

@loop()
def wait_file(r):
    return ''.join(f'Wait, let me look at the file again. The function is called in {r.choice(["main", "run", "setup"])}. Hmm, that is not right. ' for _ in range(60))

@loop()
def actually(r):
    return 'Actually, maybe I should use a dictionary instead of a list. But then the order is lost. So a list is better. Hmm, but looking up is slow. ' * 30

@loop()
def let_me_run(r):
    return 'Let me run the tests.\n\nThe tests still fail with the same error.\n\nLet me fix the import.\n\n' * 35

@loop()
def step_counter(r):
    return ''.join(f'Step {i}: Check whether the file exists and read it if it does.\n' for i in range(1, 900))

@loop()
def attempts(r):
    return ''.join(f'Attempt {i} failed, because the server did not answer in time. I will wait for a moment and try the request again.\n' for i in range(1, 200))

@loop()
def plan_turns(r):
    return ''.join(r.choice(['I will now write the tests. ', 'First I need to read the code. ', 'The code is in the source folder. ', 'Then I will run everything. ']) for _ in range(120))

@loop()
def the_answer(r):
    return 'The answer is 42.\n\nLet me verify: 6 × 7 = 42. Yes.\n\nSo the answer is 42.\n\n' * 35

@loop()
def apologies(r):
    return 'I apologize for the confusion. You are right, the variable should be named differently. Here is the corrected version. ' * 25

@loop()
def summary_again(r):
    return ''.join(f'## Summary{" (updated)" * (i % 2)}\n\nThe parser reads the file, the checker finds the mistakes, and the writer prints them. All tests pass and the documentation is up to date.\n\n' for i in range(30))

@loop()
def names_round(r):
    names = r.sample(FIRST, 9)
    return ''.join(f'{i}. {names[i % 9]}\n' for i in range(1, 500))

@loop()
def tips_round(r):
    tips = [S(r) for _ in range(8)]
    return ''.join(f'{i}. {tips[i % 8]}\n' for i in range(1, 90))

@loop()
def titles_round(r):
    tips = [f'**{r.choice(ADJ).title()} {n}**: {S(r)}' for n in r.sample(NOUN, 6)]
    return ''.join(f'{i}. {r.choice(tips)}\n\n' for i in range(1, 90))

@loop()
def ingredients(r):
    return '- 2 cups of flour\n- 1 teaspoon of salt\n- 3 tablespoons of butter\n- 1 cup of warm milk\n' * 40

@loop()
def dialogue_round(r):
    return '"Are you coming?" asked Anna.\n\n"In a moment," said Ben, and looked out of the window.\n\n' * 40

@loop()
def paragraph_edit(r):
    return ''.join(f'The {r.choice(["small", "quiet", "old"])} harbour lay silent in the morning light, and the boats moved slowly on the water. A captain walked along the pier with a rope over his shoulder and whistled the song that his father had taught him many years ago.\n\n' for _ in range(30))

@loop()
def hashtags_round(r):
    tags = [f'#{a.title()}{n.title()}' for a, n in zip(r.sample(ADJ, 9), r.sample(NOUN, 9), strict=True)]
    return ' '.join(r.choice(tags) for _ in range(300))

@loop()
def hashtags_count(r):
    words = ['One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine', 'Ten', 'Eleven', 'Twelve', 'Thirteen', 'Fourteen', 'Fifteen']
    return ''.join(f'#SongsOfTheHarbour{words[i % 15]} ' for i in range(200))

@loop()
def emphasis(r):
    return 'very ' * 400

@loop()
def clause_chain(r):
    return 'and the captain who knew the sailor who knew the baker ' * 50

@loop('t')
def row_same(r):
    return '| Harbour | open | 12 | yes |\n' * 120

@loop('t')
def import_same(r):
    return ''.join(r.choice(['import numpy as np\n', 'import pandas as pd\n', 'import matplotlib.pyplot as plt\n']) for _ in range(260))

@loop('a', 0)
def command_again(r):
    return '{"command": "' + 'cd /repo && python -m pytest tests -q && git status && ' * 50 + '"}'

@loop('a', 0)
def note_again(r):
    return '{"path": "notes.md", "content": "' + 'The parser reads the file and the checker finds the mistakes in it. Then the writer prints them all. ' * 60 + '"}'

@loop('a', 0)
def todo_again(r):
    return '{"todos": [' + '{"content": "Fix the failing test", "status": "pending", "priority": "high"}, ' * 80
