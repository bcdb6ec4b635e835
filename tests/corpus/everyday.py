"""Healthy texts of everyday kinds, made by small programs with real variety: what agents print, write into files and
think. Nothing in them is a loop.

Each maker takes a seeded Random; `EVERYDAY` tells what it was asked for, and the channels that it belongs to.
"""

# ruff: noqa: E501, PERF401, B007, B905, E741, F841  (recipes of one line each read best unbroken)
from __future__ import annotations

import base64
import json
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from rules.values.delta import Channel

CHANNELS = {"t": Channel.TEXT, "r": Channel.REASONING, "a": Channel.TOOL}


class Everyday(NamedTuple):
    """One kind of text."""

    make: Callable[[Random], str]
    prompt: str
    channels: str
    """The letters of CHANNELS that it may stand in."""


EVERYDAY: dict[str, Everyday] = {}


def kind(prompt: str, channels: str = "tra"):
    """Note a maker under its name."""

    def noted(make: Callable[[Random], str]) -> Callable[[Random], str]:
        EVERYDAY[make.__name__] = Everyday(make, prompt, channels)
        return make

    return noted


# fmt: off
NOUN = ['harbour', 'ledger', 'morning', 'captain', 'orange', 'rope', 'piano', 'crate', 'window', 'garden', 'letter', 'bridge', 'market', 'candle', 'station', 'copper', 'basket', 'winter', 'lantern', 'engine', 'paper', 'silver', 'kitchen', 'valley', 'thunder', 'button', 'mirror', 'anchor', 'pocket', 'feather', 'cousin', 'river', 'meadow', 'whistle', 'blanket', 'hammer', 'ticket', 'corner', 'shadow', 'pepper', 'marble', 'island', 'pencil', 'saddle', 'velvet', 'chimney', 'tunnel', 'cotton', 'invoice', 'payment', 'customer', 'order', 'product', 'account', 'session', 'report', 'schedule', 'policy', 'device', 'sensor', 'network', 'server', 'client', 'request', 'response', 'queue', 'worker', 'cache', 'token', 'secret', 'volume', 'cluster', 'region']
ADJ = ['small', 'quiet', 'bright', 'early', 'late', 'heavy', 'warm', 'cold', 'broken', 'green', 'silver', 'narrow', 'wide', 'hidden', 'rapid', 'gentle', 'sudden', 'distant', 'plain', 'modern', 'ancient', 'local', 'remote', 'shared', 'private', 'public', 'static', 'dynamic']
VERB = ['opens', 'carries', 'counts', 'follows', 'paints', 'measures', 'hides', 'repairs', 'borrows', 'remembers', 'answers', 'folds', 'watches', 'sends', 'reads', 'writes', 'closes', 'moves', 'builds', 'checks', 'returns']
FIRST = ['Anna', 'Ben', 'Carla', 'David', 'Elena', 'Frank', 'Grace', 'Henry', 'Irene', 'Jonas', 'Karin', 'Liam', 'Maria', 'Nadia', 'Oscar', 'Paula', 'Quentin', 'Rosa', 'Simon', 'Teresa', 'Ulrich', 'Vera', 'Walter', 'Xenia', 'Yusuf', 'Zoe', 'Amir', 'Bianca', 'Chen', 'Dmitri', 'Eva', 'Farid', 'Gita', 'Hana', 'Ivan', 'Julia', 'Kenji', 'Lucia', 'Marek', 'Nina']
LAST = ['Smith', 'Garcia', 'Müller', 'Tanaka', 'Novak', 'Rossi', 'Silva', 'Kim', 'Ivanov', 'Dubois', 'Jensen', 'Kowalski', 'Haddad', 'Okafor', 'Nguyen', 'Patel', 'Larsson', 'Moreau', 'Costa', 'Weber', 'Lindgren', 'Sato', 'Fischer', 'Brown', 'Wilson', 'Lopez', 'Martin', 'Clark', 'Evans', 'Wright']
CITY = ['Lisbon', 'Berlin', 'Kyoto', 'Nairobi', 'Lima', 'Oslo', 'Cairo', 'Quito', 'Prague', 'Dublin', 'Hanoi', 'Riga', 'Tunis', 'Havana', 'Zagreb', 'Perth', 'Busan', 'Accra', 'Porto', 'Malmo', 'Turin', 'Lyon', 'Graz', 'Bergen', 'Ghent', 'Izmir', 'Pune', 'Cusco', 'Leeds', 'Tampa']

def S(r):
    return f"The {r.choice(ADJ)} {r.choice(NOUN)} {r.choice(VERB)} {r.choice(['a', 'the', 'every', 'his', 'our'])} {r.choice(ADJ)} {r.choice(NOUN)} {r.choice(['in', 'near', 'behind', 'after', 'before', 'without'])} the {r.choice(NOUN)} of {r.choice(CITY)}."

def ip(r):
    return '.'.join(str(r.randint(1, 254)) for _ in range(4))

def hx(r, n):
    return ''.join(r.choice('0123456789abcdef') for _ in range(n))

@kind('Here is our syslog, show me the lines about the worker')
def syslog(r: Random) -> str:
    out = []
    t = 0
    for i in range(90):
        t += r.randint(0, 40)
        p = r.choice(['sshd', 'cron', 'kernel', 'nginx', 'worker'])
        m = {'sshd': f'Failed password for invalid user {r.choice(FIRST).lower()} from {ip(r)} port {r.randint(1024, 65000)} ssh2', 'cron': f'(root) CMD (/usr/local/bin/cleanup --older-than {r.choice([7, 14, 30])}d)', 'kernel': f'[{t + 1000}.{r.randint(100000, 999999)}] usb 1-{r.randint(1, 4)}: new high-speed USB device number {r.randint(2, 40)} using xhci_hcd', 'nginx': 'upstream timed out (110: Connection timed out) while reading response header from upstream', 'worker': f'job {hx(r, 8)} finished in {r.randint(3, 900)} ms'}[p]
        out.append(f'Nov 30 {9 + t // 3600:02d}:{t // 60 % 60:02d}:{t % 60:02d} host-{r.randint(1, 3)} {p}[{r.randint(300, 9000)}]: {m}')
    return '\n'.join(out)

@kind('Print the health check part of the log')
def healthlog(r: Random) -> str:
    out = []
    t = 0
    for i in range(100):
        t += r.choice([10, 10, 10, 10, 11])
        out.append(f'2026-11-30T09:{t // 60 % 60:02d}:{t % 60:02d}Z INFO  health-check service=api status=200 latency_ms={r.randint(2, 19)}')
    return '\n'.join(out)

@kind('Show the polling output')
def pollinglog(r: Random) -> str:
    out = []
    for i in range(60):
        out.append(f'[{i + 1:3d}/60] waiting for deployment rollout to finish: {r.choice([0, 1, 1, 2])} of 3 updated replicas are available...')
    return '\n'.join(out) + '\ndeployment successfully rolled out'

@kind('Give me sample nginx access log')
def accesslog(r: Random) -> str: return '\n'.join(f'''{ip(r)} - - [30/Nov/2026:10:{i // 4:02d}:{r.randint(0, 59):02d} +0000] "{r.choice(['GET', 'GET', 'POST'])} /{r.choice(NOUN)}/{r.randint(1, 400)} HTTP/1.1" {r.choice([200, 200, 200, 304, 404, 500])} {r.randint(80, 9000)} "-" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"''' for i in range(50))

@kind('Write a CSV with sensor readings for the day')
def csv_sensor(r: Random) -> str:
    v = 20.0
    out = ['timestamp,sensor,temperature,humidity,status']
    for i in range(180):
        v += r.uniform(-0.2, 0.2)
        out.append(f'2026-11-30 {i * 5 // 60:02d}:{i * 5 % 60:02d},S1,{v:.1f},{r.randint(40, 46)},OK')
    return '\n'.join(out)

@kind('Write a csv of attendance')
def csv_attendance(r: Random) -> str:
    out = ['date,student,present,late,excused']
    for d in range(1, 8):
        for f in FIRST[:24]:
            out.append(f"2026-11-{d:02d},{f},{r.choice(['yes', 'yes', 'yes', 'no'])},no,no")
    return '\n'.join(out)

@kind('Seed the users table')
def sql_users(r: Random) -> str: return 'INSERT INTO users (id, name, email, role, created_at, deleted_at) VALUES\n' + ',\n'.join(f"({i}, '{r.choice(FIRST)} {r.choice(LAST)}', '{r.choice(FIRST).lower()}{i}@example.com', '{r.choice(['user', 'user', 'admin'])}', NOW(), NULL)" for i in range(1, 120)) + ';'

@kind('Seed the role_permissions table')
def sql_pairs(r: Random) -> str: return '\n'.join(f"INSERT INTO role_permissions (role_id, permission_id, granted, granted_by) VALUES ({a}, {b}, TRUE, 'system');" for a in range(1, 9) for b in range(1, 18))

@kind('Seed the seats table for the theatre')
def sql_seats(r: Random) -> str: return '\n'.join(f"INSERT INTO seats (row_label, seat_number, is_available) VALUES ('{chr(65 + a)}', {b}, TRUE);" for a in range(10) for b in range(1, 13))

@kind('Write parametrised pytest tests for the parser')
def pytest_params(r: Random) -> str:
    out = ['import pytest\nfrom app.parser import parse\n']
    for n in range(9):
        out.append('@pytest.mark.parametrize("text, expected", [')
        for i in range(12):
            out.append(f'    ("{r.choice(NOUN)}={r.randint(1, 99)}", {{"{r.choice(NOUN)}": {r.randint(1, 99)}}}),')
        out.append(f'])\ndef test_{r.choice(ADJ)}_{r.choice(NOUN)}(text, expected):\n    assert parse(text) == expected\n')
    return '\n'.join(out)

@kind('Write unit tests for the validators')
def jest_tests(r: Random) -> str: return '\n\n'.join(f"  it('should {r.choice(['reject', 'accept', 'normalise'])} {r.choice(ADJ)} {n}', async () => {{\n    const response = await request(app).post('/api/{n}s').send({{ name: '{r.choice(FIRST)}', value: {r.randint(1, 99)} }});\n    expect(response.status).toBe({r.choice([200, 201, 400, 422])});\n    expect(response.body).toHaveProperty('id');\n    expect(response.body.error).toBeUndefined();\n  }});" for n in NOUN[:26])

@kind('write table driven tests in Go')
def go_table(r: Random) -> str: return 'tests := []struct {\n\tname string\n\tin   string\n\twant int\n\terr  bool\n}{\n' + '\n'.join(f'\t{{\n\t\tname: "{r.choice(ADJ)} {n}",\n\t\tin:   "{n}",\n\t\twant: {r.randint(0, 9)},\n\t\terr:  false,\n\t}},' for n in NOUN[:60]) + '\n}'

@kind('CRUD endpoints for each model please')
def crud(r: Random) -> str: return '\n\n'.join(f'@router.get("/{n}s/{{{n}_id}}", response_model={n.title()}Out)\nasync def get_{n}({n}_id: int, db: Session = Depends(get_db)) -> {n.title()}Out:\n    {n} = db.get({n.title()}, {n}_id)\n    if {n} is None:\n        raise HTTPException(status_code=404, detail="{n.title()} not found")\n    return {n}\n\n\n@router.delete("/{n}s/{{{n}_id}}", status_code=204)\nasync def delete_{n}({n}_id: int, db: Session = Depends(get_db)) -> None:\n    {n} = db.get({n.title()}, {n}_id)\n    if {n} is None:\n        raise HTTPException(status_code=404, detail="{n.title()} not found")\n    db.delete({n})\n    db.commit()' for n in NOUN[40:58])

@kind('i18n file for the settings page')
def i18n_json(r: Random) -> str:
    out = ['{']
    for n in NOUN[:40]:
        out.append(f'  "{n}.title": "{n.title()}",\n  "{n}.create": "Create {n}",\n  "{n}.edit": "Edit {n}",\n  "{n}.delete": "Delete {n}",\n  "{n}.confirm": "Are you sure you want to delete this {n}?",\n  "{n}.saved": "{n.title()} saved successfully.",')
    return '\n'.join(out) + '\n  "end": ""\n}'

@kind('Create the .po template')
def po_empty(r: Random) -> str: return '\n\n'.join(f'#: src/views/{r.choice(NOUN)}.py:{r.randint(1, 900)}\nmsgid "{n} {r.choice(ADJ)}"\nmsgstr ""' for n in NOUN * 2)

@kind('Show a hex dump of the file')
def hexdump(r: Random) -> str:
    out = []
    for i in range(120):
        b = [0] * 16 if r.random() < 0.5 else [r.randint(0, 255) for _ in range(16)]
        out.append(f'{i * 16:08x}  ' + ' '.join(f'{x:02x}' for x in b[:8]) + '  ' + ' '.join(f'{x:02x}' for x in b[8:]) + '  |' + ''.join(chr(x) if 32 <= x < 127 else '.' for x in b) + '|')
    return '\n'.join(out)

@kind("Show a hex dump of the disk image's first sector")
def hexdump_zeros(r: Random) -> str:
    out = []
    for i in range(64):
        b = [0] * 16 if 3 < i < 60 else [r.randint(0, 255) for _ in range(16)]
        out.append(f'{i * 16:08x}: ' + ' '.join(''.join(f'{x:02x}' for x in b[j:j + 2]) for j in range(0, 16, 2)) + '  ' + ''.join(chr(x) if 32 <= x < 127 else '.' for x in b))
    return '\n'.join(out)

@kind('Encode it as base64')
def b64(r: Random) -> str: return base64.b64encode(bytes(r.randint(0, 255) for _ in range(6000))).decode()

@kind('Give me the icon as a data URI')
def b64_bmp(r: Random) -> str:
    rows = b''.join(bytes([0, 0, 0, 0]) * r.randint(2, 9) + bytes([255, 200, 10, 255]) * 8 for _ in range(32))
    return 'data:image/bmp;base64,' + base64.b64encode(b'BM' + rows * 2).decode()

@kind('Draw the architecture')
def boxes(r: Random) -> str:
    out = []
    for i in range(14):
        a, b = (r.choice(NOUN), r.choice(NOUN))
        out.append(f"+{'-' * 20}+        +{'-' * 20}+\n| {a:<18} | -----> | {b:<18} |\n+{'-' * 20}+        +{'-' * 20}+\n          |                             |\n          v                             v")
    return '```\n' + '\n'.join(out) + '\n```'

@kind('Draw the org chart as a tree')
def tree(r: Random) -> str:
    out = ['.']
    for a in NOUN[:14]:
        out.append(f'├── {a}')
        for b in r.sample(NOUN, 4):
            out.append(f'│   ├── {b}\n│   │   ├── index.ts\n│   │   ├── {b}.test.ts\n│   │   └── {b}.module.css')
    return '\n'.join(out)

@kind('A sequence diagram in mermaid')
def mermaid(r: Random) -> str:
    ps = ['Client', 'Gateway', 'Auth', 'Orders', 'Database']
    return 'sequenceDiagram\n' + '\n'.join(f"    {(a := r.choice(ps))}->>{r.choice([p for p in ps if p != a])}: {r.choice(['GET', 'POST', 'query', 'reply', 'ack'])} {r.choice(NOUN)}" for _ in range(150))

@kind('Write the THIRD-PARTY-NOTICES file')
def notices(r: Random) -> str:
    mit = 'Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:\n\nThe above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.\n\nTHE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.\n'
    return '\n'.join(f"{'=' * 60}\n{n}-{r.choice(NOUN)} {r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 9)}\n{'=' * 60}\n\nThe MIT License (MIT)\n\nCopyright (c) {r.randint(2009, 2025)} {r.choice(FIRST)} {r.choice(LAST)}\n\n{mit}" for n in NOUN[:5])

@kind('Write a pop song about the sea')
def song(r: Random) -> str:
    ch = "Oh, carry me over the water tonight,\nWe're chasing the sun till we run out of light,\nAnd if I should fall, would you hold me tight?\nOh, carry me over the water tonight."
    return '\n\n'.join(f'[Verse {i + 1}]\n' + '\n'.join(S(r) for _ in range(4)) + f'\n\n[Chorus]\n{ch}' for i in range(4)) + f'\n\n[Bridge]\n{S(r)}\n{S(r)}\n\n[Chorus]\n{ch}\n\n[Outro]\nOver the water, over the water,\nOver the water tonight.'

@kind('rap about my cat')
def rap(r: Random) -> str:
    hook = "Yo, it's the cat with the hat on the mat,\nDon't step on the tail or you're gonna get that,\nYo, it's the cat with the hat on the mat,\nKing of the couch and that is a fact."
    return '\n\n'.join(f'(Verse {i + 1})\n' + '\n'.join(S(r) for _ in range(6)) + f'\n\n(Hook)\n{hook}' for i in range(7))

@kind('Sing 99 bottles from 30 down')
def bottles(r: Random) -> str: return '\n\n'.join(f'{n} bottles of beer on the wall, {n} bottles of beer.\nTake one down and pass it around, {n - 1} bottles of beer on the wall.' for n in range(30, 1, -1))
NUMW = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen', 'nineteen', 'twenty']

@kind('Sing ten green bottles')
def greenbottles(r: Random) -> str: return '\n\n'.join(f"{NUMW[n].title()} green bottles hanging on the wall,\n{NUMW[n].title()} green bottles hanging on the wall,\nAnd if one green bottle should accidentally fall,\nThere'll be {NUMW[n - 1]} green bottles hanging on the wall." for n in range(10, 0, -1))

@kind('The full lyrics of the twelve days')
def twelvedays(r: Random) -> str:
    g = ['a partridge in a pear tree', 'two turtle doves', 'three French hens', 'four calling birds', 'five gold rings', 'six geese a-laying', 'seven swans a-swimming', 'eight maids a-milking', 'nine ladies dancing', 'ten lords a-leaping', 'eleven pipers piping', 'twelve drummers drumming']
    o = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth', 'eleventh', 'twelfth']
    return '\n\n'.join(f'On the {o[i]} day of Christmas my true love sent to me\n' + ',\n'.join(g[j] if j or not i else 'and ' + g[j] for j in range(i, -1, -1)) + '.' for i in range(12))

@kind('Old MacDonald, all animals')
def macdonald(r: Random) -> str: return '\n\n'.join((f'Old MacDonald had a farm, E-I-E-I-O,\nAnd on that farm he had a {a}, E-I-E-I-O,\nWith a {s}-{s} here and a {s}-{s} there,\nHere a {s}, there a {s}, everywhere a {s}-{s},\nOld MacDonald had a farm, E-I-E-I-O.' for a, s in [('cow', 'moo'), ('pig', 'oink'), ('duck', 'quack'), ('sheep', 'baa'), ('horse', 'neigh'), ('dog', 'woof'), ('cat', 'meow'), ('hen', 'cluck'), ('goat', 'maa'), ('turkey', 'gobble')]))

@kind('This is the house that Jack built, whole rhyme')
def jack(r: Random) -> str:
    p = ['the house that Jack built', 'the malt that lay in', 'the rat that ate', 'the cat that killed', 'the dog that worried', 'the cow with the crumpled horn that tossed', 'the maiden all forlorn that milked', 'the man all tattered and torn that kissed', 'the priest all shaven and shorn that married', 'the cock that crowed in the morn that woke', 'the farmer sowing his corn that kept']
    return '\n\n'.join('This is ' + '\n'.join(p[j] for j in range(i, -1, -1)) + '.' for i in range(len(p)))
SAINT = ['Mary', 'Michael', 'Gabriel', 'Raphael', 'Joseph', 'Peter', 'Paul', 'Andrew', 'James', 'John', 'Thomas', 'Philip', 'Bartholomew', 'Matthew', 'Simon', 'Thaddeus', 'Matthias', 'Barnabas', 'Luke', 'Mark', 'Stephen', 'Lawrence', 'Vincent', 'Fabian', 'Sebastian', 'Cosmas', 'Damian', 'Gervase', 'Silvester', 'Gregory', 'Ambrose', 'Augustine', 'Jerome', 'Martin', 'Nicholas', 'Anthony', 'Benedict', 'Bernard', 'Dominic', 'Francis', 'Magdalen', 'Agatha', 'Lucy', 'Agnes', 'Cecilia', 'Catherine', 'Anastasia']

@kind('The litany of the saints please')
def litany(r: Random) -> str: return '\n'.join(f'Saint {s}, pray for us.' for s in SAINT) + '\n' + '\n'.join(f'From all {x}, O Lord, deliver us.' for x in ['evil', 'sin', 'anger', 'hatred', 'ill will', 'lightning and tempest', 'earthquake', 'plague, famine and war', 'everlasting death'])

@kind('Litany of Loreto, with responses on lines of their own')
def litany2(r: Random) -> str: return '\n'.join(f'{a}\nPray for us.\n' for a in ['Holy Mary', 'Holy Mother of God', 'Holy Virgin of virgins', 'Mother of Christ', 'Mother of the Church', 'Mother of mercy', 'Mother of divine grace', 'Mother of hope', 'Mother most pure', 'Mother most chaste', 'Mother inviolate', 'Mother undefiled', 'Mother most amiable', 'Mother admirable', 'Mother of good counsel', 'Mother of our Creator', 'Mother of our Saviour', 'Virgin most prudent', 'Virgin most venerable', 'Virgin most renowned', 'Virgin most powerful', 'Virgin most merciful', 'Virgin most faithful', 'Mirror of justice', 'Seat of wisdom', 'Cause of our joy', 'Spiritual vessel', 'Vessel of honour', 'Singular vessel of devotion', 'Mystical rose', 'Tower of David', 'Tower of ivory', 'House of gold', 'Ark of the covenant', 'Gate of heaven', 'Morning star', 'Health of the sick', 'Refuge of sinners', 'Solace of migrants', 'Comfort of the afflicted', 'Help of Christians', 'Queen of angels', 'Queen of patriarchs', 'Queen of prophets', 'Queen of apostles', 'Queen of martyrs', 'Queen of confessors', 'Queen of virgins', 'Queen of all saints', 'Queen of peace'])

@kind('Say a rosary decade by decade')
def rosary(r: Random) -> str:
    hail = 'Hail Mary, full of grace, the Lord is with thee; blessed art thou among women, and blessed is the fruit of thy womb, Jesus. Holy Mary, Mother of God, pray for us sinners, now and at the hour of our death. Amen.'
    return '\n\n'.join((f'The {x} mystery: {m}\n\n{hail} (10 times)\n\nGlory be to the Father, and to the Son, and to the Holy Spirit. As it was in the beginning, is now, and ever shall be, world without end. Amen.' for x, m in zip(['first', 'second', 'third', 'fourth', 'fifth'], ['The Annunciation', 'The Visitation', 'The Nativity', 'The Presentation', 'The Finding in the Temple'])))

@kind('Psalm 136')
def psalm136(r: Random) -> str:
    a = ['O give thanks unto the Lord; for he is good', 'O give thanks unto the God of gods', 'O give thanks to the Lord of lords', 'To him who alone doeth great wonders', 'To him that by wisdom made the heavens', 'To him that stretched out the earth above the waters', 'To him that made great lights', 'The sun to rule by day', 'The moon and stars to rule by night', 'To him that smote Egypt in their firstborn', 'And brought out Israel from among them', 'With a strong hand, and with a stretched out arm', 'To him which divided the Red sea into parts', 'And made Israel to pass through the midst of it', 'But overthrew Pharaoh and his host in the Red sea', 'To him which led his people through the wilderness', 'To him which smote great kings', 'And slew famous kings', 'Sihon king of the Amorites', 'And Og the king of Bashan', 'And gave their land for an heritage', 'Even an heritage unto Israel his servant', 'Who remembered us in our low estate', 'And hath redeemed us from our enemies', 'Who giveth food to all flesh', 'O give thanks unto the God of heaven']
    return '\n'.join((f'{i + 1} {x}: for his mercy endureth for ever.' for i, x in enumerate(a)))

@kind('Draft the lease')
def contract(r: Random) -> str:
    out = []
    P = ['The {a} shall not, without the prior written consent of the {b}, {v} the {n} or any part thereof, provided that such consent shall not be unreasonably withheld.', 'Any {n} arising out of this Clause shall be borne by the {a} and paid within {k} days of receipt of a written {m}.', "The {b} shall be entitled to enter the {n} at any reasonable time upon {k} hours' notice in order to {v} the {m}.", "If the {a} fails to {v} the {n}, the {b} may, at its sole discretion, terminate this Agreement by giving not less than {k} days' written notice.", 'For the avoidance of doubt, nothing in this Clause shall limit the liability of the {a} for the {n} or the {m}.', 'The parties agree that the {m} referred to in Schedule {k} forms an integral part of this Agreement and prevails over the {n} in case of conflict.']
    for i in range(1, 13):
        out.append(f'{i}. {r.choice(NOUN).upper()}\n')
        for j in range(1, 5):
            a, b = r.sample(['Tenant', 'Landlord'], 2)
            out.append(f'{i}.{j} ' + r.choice(P).format(a=a, b=b, v=r.choice(['assign', 'sublet', 'alter', 'remove', 'inspect', 'repair', 'insure']), n=r.choice(ADJ) + ' ' + r.choice(NOUN), m=r.choice(NOUN), k=r.choice([3, 5, 7, 14, 24, 30, 60])))
    return '\n'.join(out)

@kind('Patent claims')
def claims(r: Random) -> str: return '\n'.join(f'{i}. The method of claim {r.randint(1, max(1, i - 1))}, wherein the {r.choice(ADJ)} {r.choice(NOUN)} comprises a {r.choice(ADJ)} {r.choice(NOUN)} configured to receive the {r.choice(NOUN)} from the {r.choice(NOUN)}.' for i in range(2, 60))

@kind('List of participants')
def people(r: Random) -> str: return '\n'.join(f'{i}. {r.choice(FIRST)} {r.choice(LAST)} – {r.choice(CITY)}' for i in range(1, 200))

@kind('List the image URLs')
def urls(r: Random) -> str: return '\n'.join(f'https://cdn.example.com/assets/images/products/{r.choice(NOUN)}-{r.choice(ADJ)}-{r.randint(100, 999)}.jpg' for i in range(120))

@kind('List the page URLs')
def urls_count(r: Random) -> str: return '\n'.join(f'https://www.example.com/catalog/page/{i}/?sort=price&order=asc' for i in range(1, 121))

@kind('List the IPs in that subnet')
def ips(r: Random) -> str: return '\n'.join(f'192.168.10.{i}' for i in range(1, 255))

@kind('Which hosts answered?')
def ips2(r: Random) -> str: return '\n'.join(f"10.0.{r.randint(0, 9)}.{i}    {r.choice(['up', 'up', 'down'])}    {r.randint(0, 30)} ms" for i in range(1, 200))

@kind('Compare the features in a table')
def mdtable(r: Random) -> str:
    h = ['Feature', 'Free', 'Pro', 'Team', 'Enterprise']
    out = ['| ' + ' | '.join(f'{x:<30}' for x in h) + ' |', '|' + '|'.join('-' * 32 for _ in h) + '|']
    for n in NOUN[:50]:
        out.append('| ' + ' | '.join(f'{x:<30}' for x in [f'{r.choice(ADJ)} {n}'] + [r.choice(['Yes', 'Yes', 'No']) for _ in range(4)]) + ' |')
    return '\n'.join(out)

@kind('Compatibility matrix with check marks')
def checks(r: Random) -> str:
    out = ['| Browser | ' + ' | '.join(NOUN[:8]) + ' |', '|' + '---|' * 9]
    for i in range(40):
        out.append(f"| {r.choice(['Chrome', 'Firefox', 'Safari', 'Edge', 'Opera'])} {i + 80} | " + ' | '.join(r.choice('✅✅✅❌') for _ in range(8)) + ' |')
    return '\n'.join(out)

@kind('wide table with padding')
def padded(r: Random) -> str:
    out = ['| Name' + ' ' * 120 + '| Value' + ' ' * 60 + '|', '|' + '-' * 125 + '|' + '-' * 66 + '|']
    for n in NOUN[:20]:
        out.append(f'| {n:<123} | {r.randint(1, 9):<64} |')
    return '\n'.join(out)

@kind('reStructuredText grid table')
def rst(r: Random) -> str:
    out = []
    sep = '+' + '+'.join('-' * 24 for _ in range(4)) + '+'
    for n in NOUN[:30]:
        out.append(sep + '\n|' + '|'.join(f' {x:<22} ' for x in (n, r.choice(ADJ), 'optional', 'string')) + '|')
    return '\n'.join(out) + '\n' + sep

@kind('JSON for the tile map')
def json_same(r: Random) -> str: return json.dumps([{'id': i, 'type': 'grass', 'walkable': True, 'cost': 1, 'items': [], 'owner': None} for i in range(80)], indent=2)

@kind('JSON list of defaults')
def json_flags(r: Random) -> str: return json.dumps({n: {'enabled': True, 'visible': True, 'editable': False, 'default': None, 'roles': ['admin', 'editor']} for n in NOUN}, indent=2)

@kind('GeoJSON of the stops')
def geojson(r: Random) -> str: return json.dumps({'type': 'FeatureCollection', 'features': [{'type': 'Feature', 'properties': {'name': r.choice(CITY)}, 'geometry': {'type': 'Point', 'coordinates': [round(r.uniform(-9, 9), 5), round(r.uniform(40, 50), 5)]}} for _ in range(50)]}, indent=1)

@kind('zero matrix as nested list')
def matrix0(r: Random) -> str: return 'matrix = [\n' + ',\n'.join('    [' + ', '.join('1' if i == j else '0' for j in range(16)) + ']' for i in range(16)) + '\n]'

@kind('one-hot table')
def onehot(r: Random) -> str: return '\n'.join((f'{n}: [' + ', '.join(('1' if i == j else '0' for j in range(30))) + ']' for i, n in enumerate(NOUN[:30])))

@kind('CSS utility classes for margins')
def css(r: Random) -> str: return '\n'.join((f'.m{s}-{n} {{\n  margin-{d}: {n * 0.25}rem;\n}}\n' for s, d in (('t', 'top'), ('b', 'bottom'), ('l', 'left'), ('r', 'right')) for n in range(25)))

@kind('stylesheet with media queries')
def css2(r: Random) -> str: return '\n'.join(f'@media (max-width: {w}px) {{\n' + '\n'.join(f'  .{n} {{\n    display: flex;\n    flex-direction: column;\n    padding: {r.randint(1, 40)}px;\n    margin: 0 auto;\n  }}' for n in NOUN[:9]) + '\n}' for w in (1200, 992, 768, 576, 480))

@kind('SVG of a skyline')
def svg(r: Random) -> str: return '<svg>\n' + '\n'.join(f'  <rect x="{i * 12}" y="{r.randint(20, 180)}" width="10" height="{r.randint(20, 180)}" fill="#{hx(r, 6)}" stroke="black" stroke-width="1"/>' for i in range(100)) + '\n</svg>'

@kind('SVG path of the coast')
def svgpath(r: Random) -> str: return '<path d="M0 0 ' + ' '.join(f'L {i * 3} {r.randint(0, 90)}' for i in range(400)) + ' Z"/>'

@kind('window grid in SVG')
def svggrid(r: Random) -> str: return '\n'.join(f'<rect x="{x * 20}" y="{y * 20}" width="16" height="16" fill="#fff"/>' for y in range(12) for x in range(10))

@kind('x86 assembly of the function')
def asm(r: Random) -> str: return '\n'.join(r.choice([f"    mov     {r.choice(['eax', 'ebx', 'ecx', 'edx'])}, DWORD PTR [rbp-{r.choice([4, 8, 12, 16, 20, 24])}]", f"    add     {r.choice(['eax', 'ebx'])}, {r.randint(1, 9)}", '    push    rbp', '    pop     rbp', f'    call    {r.choice(NOUN)}', f'    jmp     .L{r.randint(1, 40)}', f'.L{r.randint(1, 99)}:']) for _ in range(350))

@kind('disassembly listing')
def objdump(r: Random) -> str: return '\n'.join(f"  {4198400 + i * 4:x}:\t{hx(r, 2)} {hx(r, 2)} {hx(r, 2)} {hx(r, 2)}\t{r.choice(['mov', 'ldr', 'str', 'add', 'b', 'bl', 'cmp'])}\tr{r.randint(0, 9)}, [r{r.randint(0, 9)}, #{r.choice([0, 4, 8, 12])}]" for i in range(200))

@kind('protein sequence in FASTA')
def protein(r: Random) -> str: return '\n'.join(f'>sp|P{r.randint(10000, 99999)}|{r.choice(NOUN).upper()}_HUMAN\n' + '\n'.join(''.join(r.choice('ACDEFGHIKLMNPQRSTVWY') for _ in range(60)) for _ in range(9)) for _ in range(9))

@kind('DNA with microsatellites')
def dna(r: Random) -> str: return '\n'.join(''.join(r.choice(['ACGT', 'CAG', 'CA', 'ATTTG', 'GATA']) * 1 if r.random() < 0.7 else r.choice(['CAG', 'CA', 'GATA']) * r.randint(4, 20) for _ in range(14))[:70] for _ in range(90))

@kind('annotated games')
def pgn(r: Random) -> str:
    out = []
    for g in range(6):
        out.append(f'[Event "Club"]\n[Site "{r.choice(CITY)}"]\n[Round "{g + 1}"]\n[White "{r.choice(LAST)}"]\n[Black "{r.choice(LAST)}"]\n')
        out.append(' '.join(f"{i}. {r.choice('NBRQK')}{r.choice('abcdefgh')}{r.randint(1, 8)} {r.choice('abcdefgh')}{r.randint(3, 6)}" for i in range(1, 45)) + '\n')
    return '\n'.join(out)

@kind('A reel in ABC notation')
def abc(r: Random) -> str:
    out = ['X:1\nT:The Harbour Reel\nM:4/4\nL:1/8\nK:D']
    bars = [''.join(r.choice(['d2', 'fd', 'Ad', 'BA', 'F2', 'ED', 'FA', 'ce', 'fe']) for _ in range(4)) for _ in range(9)]
    for _ in range(40):
        out.append('|:' + '|'.join(r.choice(bars) for _ in range(4)) + ':|')
    return '\n'.join(out)

@kind('guitar tab for the riff')
def tab(r: Random) -> str:
    out = []
    for i in range(16):
        out += [f'{s}|' + ''.join(r.choice(['--', '--', '--', f"{r.choice('0235')}-"]) for _ in range(16)) + '|' + '-' * 32 + '|' for s in 'eBGDAE'] + ['']
    return '\n'.join(out)

@kind('guitar tab, mostly rests')
def tab2(r: Random) -> str:
    out = []
    for i in range(3):
        out += [f'{s}|' + '-' * 64 + '|' if s in 'eB' else f'{s}|' + '0---2---0---2---3---2---0---2---' * 2 + '|' for s in 'eBGDAE'] + ['']
    return '\n'.join(out)

@kind('drum pattern grid')
def drums(r: Random) -> str: return '\n\n'.join(f"Bar {i + 1}\nHH |x-x-x-x-x-x-x-x-|\nSD |----o-------o---|\nBD |{r.choice(['o-------o-------', 'o---o---o---o---', 'o-----o-o-------'])}|" for i in range(32))

@kind('recipe for lasagne')
def recipe(r: Random) -> str: return '\n'.join(f"{i + 1}. {r.choice(['Add', 'Stir in', 'Whisk', 'Fold in', 'Pour'])} {r.choice(['100', '200', '250', '50'])} {r.choice(['g', 'ml'])} of {r.choice(['flour', 'milk', 'sugar', 'butter', 'cream', 'tomatoes', 'stock'])} and {r.choice(['cook', 'simmer', 'rest', 'bake'])} for {r.randint(2, 40)} minutes, stirring occasionally." for i in range(60))

@kind('minutes of the meetings')
def minutes(r: Random) -> str: return '\n\n'.join(f"## Meeting of {d} November\n\nPresent: {', '.join(r.sample(FIRST, 5))}\n\n- Minutes of the previous meeting were approved.\n- {S(r)}\n- {S(r)}\n- Action: {r.choice(FIRST)} to report back at the next meeting.\n- There being no further business, the meeting was closed at {r.randint(15, 18)}:{r.choice(['00', '15', '30', '45'])}." for d in range(1, 26))

@kind('A villanelle about rain')
def villanelle(r: Random) -> str:
    A, B = ('The rain returns to every roof we knew.', 'And all the gutters sing the song anew.')
    return '\n\n'.join(f'# Villanelle {k}\n\n' + '\n\n'.join(f'{S(r)}\n{S(r)}\n{(A if i % 2 == 0 else B)}' for i in range(5)) + f'\n{B}' for k in range(4))

@kind('A pantoum')
def pantoum(r: Random) -> str:
    L = [S(r) for _ in range(26)]
    return '\n\n'.join('\n'.join((L[i], L[i + 2], L[i + 1], L[i + 3])) for i in range(0, 22, 2))

@kind('affirmations')
def affirm(r: Random) -> str: return '\n'.join(f"{i + 1}. I am {r.choice(ADJ)} and I {r.choice(['trust', 'honour', 'welcome', 'believe in'])} my {r.choice(NOUN)}." for i in range(150))

@kind('scene with two people')
def script(r: Random) -> str: return '\n\n'.join(f"{r.choice(['ANNA', 'BEN'])}: {r.choice(['No.', 'Yes.', 'I know.', 'Are you sure?', 'What do you mean?', S(r), S(r), S(r)])}" for _ in range(140))

@kind('the transition table')
def fsm(r: Random) -> str: return '\n'.join(f"| {s} | {e} | {r.choice(['IDLE', 'RUNNING', 'PAUSED', 'STOPPED', 'ERROR'])} | {r.choice(['none', 'log', 'notify', 'reset'])} |" for s in ['IDLE', 'RUNNING', 'PAUSED', 'STOPPED', 'ERROR'] for e in ['start', 'stop', 'pause', 'resume', 'fail', 'reset', 'timeout', 'cancel'])

@kind('CI matrix yaml')
def cimatrix(r: Random) -> str: return '\n'.join(f'      - os: {o}\n        python: "3.{p}"\n        database: {d}\n        experimental: false' for o in ('ubuntu-24.04', 'macos-14', 'windows-2022') for p in range(9, 14) for d in ('postgres', 'mysql', 'sqlite'))

@kind('benchmark results')
def bench(r: Random) -> str: return '\n'.join(f'Benchmark{n.title()}/{k}-8        \t{r.randint(1000, 900000):>8}\t{r.randint(100, 99999):>8} ns/op\t{r.randint(0, 400):>6} B/op\t{r.randint(0, 9)} allocs/op' for n in NOUN[:30] for k in ('small', 'large'))

@kind('epochs of the training')
def epochs(r: Random) -> str: return '\n'.join(f'Epoch {i}/100\n1875/1875 [==============================] - {r.randint(4, 6)}s {r.randint(2, 3)}ms/step - loss: {2 / (i + 1) + r.random() * 0.01:.4f} - accuracy: {1 - 1 / (i + 2) + r.random() * 0.01:.4f} - val_loss: {2 / (i + 1) + r.random() * 0.02:.4f} - val_accuracy: {1 - 1 / (i + 2):.4f}' for i in range(1, 61))

@kind('git log')
def gitlog(r: Random) -> str: return '\n\n'.join(f"commit {hx(r, 40)}\nAuthor: {r.choice(FIRST)} {r.choice(LAST)} <dev@example.com>\nDate:   Mon Nov {r.randint(1, 30)} {r.randint(8, 18)}:{r.randint(10, 59)}:{r.randint(10, 59)} 2026 +0100\n\n    {r.choice(['Fix', 'Add', 'Remove', 'Update'])} {r.choice(ADJ)} {r.choice(NOUN)}" for _ in range(60))

@kind('rename it everywhere; show the diff')
def diff(r: Random) -> str: return '\n'.join((f'diff --git a/src/{n}.py b/src/{n}.py\nindex {hx(r, 7)}..{hx(r, 7)} 100644\n--- a/src/{n}.py\n+++ b/src/{n}.py\n@@ -{k},7 +{k},7 @@ class {n.title()}:\n     def __init__(self, config):\n         self.config = config\n-        self.logger = logging.getLogger(__name__)\n+        self.logger = structlog.get_logger(__name__)\n         self.client = None\n' for n, k in ((n, r.randint(3, 90)) for n in NOUN[:40])))

@kind('thinking', 'r')
def think_wait(r: Random) -> str:
    out = []
    for i in range(14):
        a, b = (r.randint(2, 40), r.randint(2, 40))
        out.append(f"Wait, let me check that again. If x = {a}, then {a} times {b} is {a * b}, and {a * b} plus {a} is {a * b + a}. {r.choice(['That does not match.', 'Hmm, so the remainder is off.', 'No, the sign is wrong.'])} So {S(r)[4:]}")
    return '\n\n'.join(out) + '\n\nSo the answer is 42.'

@kind('thinking', 'r')
def think_wait2(r: Random) -> str:
    out = []
    qs = ['the boundary case', 'the empty list', 'the overflow', 'negative numbers', 'the encoding', 'the lock order', 'the retry', 'the time zone', 'unicode', 'the cache', 'duplicates', 'the rounding']
    for q in qs:
        out.append(f'Wait, but what about {q}? Let me think about {q}. The function reads the input, so {S(r).lower()} {S(r)} OK so {q} is fine.')
    return '\n\n'.join(out)

@kind('thinking', 'r')
def think_cases(r: Random) -> str: return '\n'.join(f"Case n = {n}: {n}^2 = {n * n}, {n * n} mod 7 = {n * n % 7}, so the residue is {n * n % 7}. {('Works.' if n * n % 7 == 2 else 'Does not work.')}" for n in range(1, 90))

@kind('thinking', 'r')
def think_brute(r: Random) -> str: return '\n'.join(f"Try a={a}, b={b}: {a}+{b}={a + b}, {a}*{b}={a * b}. {('Too small.' if a * b < 40 else 'Too big.' if a * b > 40 else 'Yes! 40.')}" for a in range(2, 12) for b in range(2, 12))

@kind('thinking', 'r')
def think_primes(r: Random) -> str: return '\n'.join(f'{n}: ' + ('prime' if all(n % d for d in range(2, n)) else f'= {next(d for d in range(2, n) if n % d == 0)} * {n // next(d for d in range(2, n) if n % d == 0)}, not prime') for n in range(2, 260))

@kind('thinking', 'r')
def think_letters(r: Random) -> str: return '\n'.join((f"{i + 1}. {c} - {('yes, that is an r' if c == 'r' else 'not r')}" for i, c in enumerate('strawberry raspberry currant mirror corridor arrival ')))

@kind('thinking', 'r')
def think_truth(r: Random) -> str: return '\n'.join(f'A={a} B={b} C={c} D={d}: (A or B) and not (C and D) = {bool((a or b) and (not (c and d)))}' for a in (False, True) for b in (False, True) for c in (False, True) for d in (False, True)) + '\n\n' + '\n'.join(f'P={a} Q={b} R={c} S={d}: P -> (Q and R) xor S = {bool((not a or (b and c)) != d)}' for a in (False, True) for b in (False, True) for c in (False, True) for d in (False, True))

@kind('thinking', 'r')
def think_options(r: Random) -> str: return '\n\n'.join(f"Option {x}: {S(r)} Is that consistent with the first clue? {r.choice(['Yes.', 'No.'])} Is that consistent with the second clue? {r.choice(['Yes.', 'No.'])} Is that consistent with the third clue? {r.choice(['Yes.', 'No.'])} So option {x} is {r.choice(['possible', 'out'])}." for x in 'ABCDEFGHIJKLMNOP')

@kind('thinking', 'r')
def think_trace(r: Random) -> str:
    out = []
    x = 27
    i = 0
    while x != 1:
        i += 1
        y = x // 2 if x % 2 == 0 else 3 * x + 1
        out.append(f"Step {i}: {x} is {('even' if x % 2 == 0 else 'odd')}, so {x} {('/ 2' if x % 2 == 0 else '* 3 + 1')} = {y}.")
        x = y
    return '\n'.join(out)

@kind('thinking', 'r')
def think_files(r: Random) -> str: return '\n'.join(f"Now let me look at {n}.py. It imports {r.choice(NOUN)} and defines {r.choice(NOUN).title()}. I don't see the bug here. Next." for n in NOUN)

@kind('Terraform for the buckets')
def terraform(r: Random) -> str: return '\n\n'.join(f'resource "aws_s3_bucket" "{n}" {{\n  bucket = "example-{n}"\n\n  tags = {{\n    Environment = "prod"\n    ManagedBy   = "terraform"\n    Team        = "platform"\n  }}\n}}\n\nresource "aws_s3_bucket_public_access_block" "{n}" {{\n  bucket                  = aws_s3_bucket.{n}.id\n  block_public_acls       = true\n  block_public_policy     = true\n  ignore_public_acls      = true\n  restrict_public_buckets = true\n}}' for n in NOUN[:22])

@kind('k8s manifests for the services')
def k8s(r: Random) -> str: return '\n---\n'.join(f'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {n}\n  labels:\n    app: {n}\nspec:\n  replicas: {r.randint(1, 4)}\n  selector:\n    matchLabels:\n      app: {n}\n  template:\n    metadata:\n      labels:\n        app: {n}\n    spec:\n      containers:\n        - name: {n}\n          image: registry.example.com/{n}:1.{r.randint(0, 30)}.0\n          ports:\n            - containerPort: 8080\n          resources:\n            requests:\n              cpu: 100m\n              memory: 128Mi\n            limits:\n              cpu: 500m\n              memory: 512Mi' for n in NOUN[50:68])

@kind('proto messages')
def proto(r: Random) -> str: return '\n\n'.join(f'message {n.title()}Request {{\n' + '\n'.join((f"  {r.choice(['string', 'int64', 'bool'])} {m} = {i + 1};" for i, m in enumerate(r.sample(NOUN, 6)))) + f'\n}}\n\nmessage {n.title()}Response {{\n  bool ok = 1;\n  string error = 2;\n}}' for n in NOUN[:25])

@kind('getters and setters')
def getset(r: Random) -> str: return '\n\n'.join(f'    public String get{n.title()}() {{\n        return this.{n};\n    }}\n\n    public void set{n.title()}(String {n}) {{\n        this.{n} = {n};\n    }}' for n in NOUN)

@kind('switch for key codes')
def switch(r: Random) -> str: return 'switch (code) {\n' + '\n'.join(f'    case {i}:\n        return "KEY_{r.choice(NOUN).upper()}";' for i in range(1, 140)) + '\n}'

@kind('lookup table in C')
def ctable(r: Random) -> str: return 'static const uint8_t table[1024] = {\n' + ',\n'.join('    ' + ', '.join(f'0x{(255 if r.random() < 0.5 else r.randint(0, 255)):02X}' for _ in range(12)) for _ in range(86)) + '\n};'

@kind('gamma table all the same')
def czeros(r: Random) -> str: return 'static const int16_t font[96][8] = {\n' + ',\n'.join('    {0, 0, 0, 0, 0, 0, 0, 0}' if r.random() < 0.6 else '    {' + ', '.join(str(r.choice([0, 0, 24, 60, 102, 126])) for _ in range(8)) + '}' for _ in range(96)) + '\n};'

@kind('vCards')
def vcard(r: Random) -> str: return '\n'.join(f'BEGIN:VCARD\nVERSION:3.0\nFN:{(f := r.choice(FIRST))} {(l := r.choice(LAST))}\nN:{l};{f};;;\nORG:Example Ltd\nTEL;TYPE=CELL:+49 151 {r.randint(1000000, 9999999)}\nEND:VCARD' for _ in range(60))

@kind('the class timetable as ics')
def ical(r: Random) -> str: return '\n'.join(f'BEGIN:VEVENT\nUID:{hx(r, 12)}@example.com\nDTSTAMP:20261130T080000Z\nDTSTART:202612{d:02d}T{h:02d}0000Z\nDTEND:202612{d:02d}T{h + 1:02d}0000Z\nSUMMARY:{r.choice(NOUN).title()} class\nSTATUS:CONFIRMED\nTRANSP:OPAQUE\nEND:VEVENT' for d in range(1, 15) for h in (9, 11, 14))

@kind('registration form in HTML')
def form(r: Random) -> str: return '\n'.join(f'  <div class="form-group row">\n    <label for="{n}" class="col-sm-2 col-form-label">{n.title()}</label>\n    <div class="col-sm-10">\n      <input type="text" class="form-control" id="{n}" name="{n}" placeholder="Enter {n}" required>\n    </div>\n  </div>' for n in NOUN[:40])

@kind('HTML table of members')
def htmltable(r: Random) -> str: return '<table>\n' + '\n'.join(f'  <tr>\n    <td>{i}</td>\n    <td>{r.choice(FIRST)} {r.choice(LAST)}</td>\n    <td>Member</td>\n    <td>Active</td>\n    <td><a href="#">Edit</a> <a href="#">Delete</a></td>\n  </tr>' for i in range(1, 60)) + '\n</table>'

@kind('select options for countries / years')
def options(r: Random) -> str: return '\n'.join(f'<option value="{y}">{y}</option>' for y in range(1920, 2027))

@kind('nav cards')
def cards(r: Random) -> str: return '\n'.join(f"""<div class="card">\n  <img src="https://via.placeholder.com/300x200" class="card-img-top" alt="...">\n  <div class="card-body">\n    <h5 class="card-title">{n.title()}</h5>\n    <p class="card-text">Some quick example text to build on the card title and make up the bulk of the card's content.</p>\n    <a href="#" class="btn btn-primary">Go somewhere</a>\n  </div>\n</div>""" for n in NOUN[:9])

@kind('latex table')
def latex(r: Random) -> str: return '\\begin{tabular}{lrrrr}\n\\toprule\n' + '\n'.join(f'{n.title()} & {r.random():.3f} & {r.random():.3f} & {r.random():.3f} & {r.random():.3f} \\\\' for n in NOUN) + '\n\\bottomrule\n\\end{tabular}'

@kind('prometheus exposition')
def prom(r: Random) -> str: return '\n'.join(f'# HELP {n}_requests_total Total number of requests.\n# TYPE {n}_requests_total counter\n' + '\n'.join(f'{n}_requests_total{{method="{m}",code="{c}"}} {r.choice([0, 0, r.randint(1, 9999)])}' for m in ('GET', 'POST', 'PUT') for c in (200, 400, 500)) for n in NOUN[:18])

@kind('openapi paths')
def openapi(r: Random) -> str: return '\n'.join(f"  /{n}s/{{id}}:\n    get:\n      summary: Get {n}\n      parameters:\n        - name: id\n          in: path\n          required: true\n          schema:\n            type: integer\n      responses:\n        '200':\n          description: OK\n          content:\n            application/json:\n              schema:\n                $ref: '#/components/schemas/{n.title()}'\n        '404':\n          description: Not found" for n in NOUN[:28])

@kind('bibtex')
def bibtex(r: Random) -> str: return '\n\n'.join(f'@article{{{r.choice(LAST).lower()}{r.randint(1990, 2026)},\n  author  = {{{r.choice(LAST)}, {r.choice(FIRST)} and {r.choice(LAST)}, {r.choice(FIRST)}}},\n  title   = {{On the {r.choice(ADJ)} {r.choice(NOUN)}}},\n  journal = {{Journal of {r.choice(NOUN).title()} Studies}},\n  volume  = {{{r.randint(1, 90)}}},\n  pages   = {{{r.randint(1, 90)}--{r.randint(91, 200)}}},\n  year    = {{{r.randint(1990, 2026)}}}\n}}' for _ in range(40))

@kind('multiple choice quiz about vocabulary')
def quiz(r: Random) -> str: return '\n\n'.join(f"{i}. What does the {r.choice(NOUN)} do?\n   A) It {r.choice(VERB)}\n   B) It {r.choice(VERB)}\n   C) All of the above\n   D) None of the above\n   Answer: {r.choice('ABCD')}" for i in range(1, 60))

@kind('answer key')
def answerkey(r: Random) -> str: return '\n'.join(f"{i}. {r.choice('ABCD')}" for i in range(1, 301))

@kind('true or false with reasons')
def truefalse(r: Random) -> str: return '\n'.join(f"Statement {i}: {r.choice(['True', 'False'])}. The statement says that the {r.choice(NOUN)} {r.choice(VERB)}, which is {r.choice(['correct', 'not correct'])} according to the text." for i in range(1, 80))

@kind('multiplication tables')
def times(r: Random) -> str: return '\n'.join(f'{a} x {b} = {a * b}' for a in range(1, 16) for b in range(1, 13))

@kind('count from one to two hundred in words')
def numwords(r: Random) -> str:
    t = ['twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety']

    def w(n):
        if n < 21:
            return NUMW[n]
        if n < 100:
            return t[n // 10 - 2] + ('-' + NUMW[n % 10] if n % 10 else '')
        return NUMW[n // 100] + ' hundred' + (' and ' + w(n % 100) if n % 100 else '')
    return ', '.join(w(n) for n in range(1, 300))

@kind('count in German words')
def numde(r: Random) -> str:
    e = ['null', 'ein', 'zwei', 'drei', 'vier', 'fünf', 'sechs', 'sieben', 'acht', 'neun']
    z = ['.', 'zwanzig', 'dreißig', 'vierzig', 'fünfzig', 'sechzig', 'siebzig', 'achtzig', 'neunzig']
    return ', '.join(f'{e[n % 10]}und{z[n // 10 - 1]}' for n in range(21, 100) if n % 10)

@kind('numbers in binary')
def binary(r: Random) -> str: return '\n'.join(f'{n} = {n:08b}' for n in range(256))

@kind('roman numerals')
def roman(r: Random) -> str:

    def w(n):
        s = ''
        for v, c in ((100, 'C'), (90, 'XC'), (50, 'L'), (40, 'XL'), (10, 'X'), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')):
            while n >= v:
                s += c
                n -= v
        return s
    return ', '.join(w(n) for n in range(1, 200))

@kind('solve hanoi with 8 discs')
def hanoi(r: Random) -> str:
    out = []

    def h(n, a, b, c):
        if n:
            h(n - 1, a, c, b)
            out.append(f'Move disk {n} from {a} to {c}')
            h(n - 1, b, a, c)
    h(8, 'A', 'B', 'C')
    return '\n'.join(out)

@kind('show the sort steps')
def bubble(r: Random) -> str:
    a = r.sample(range(1, 40), 14)
    out = []
    for i in range(13):
        for j in range(13 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = (a[j + 1], a[j])
                out.append(f'Swap {a[j]} and {a[j + 1]}: {a}')
    return '\n'.join(out)

@kind('game of life generations')
def life(r: Random) -> str:
    g = [[r.random() < 0.3 for _ in range(24)] for _ in range(12)]
    out = []
    for k in range(12):
        out.append(f'Generation {k}:\n' + '\n'.join(''.join('#' if x else '.' for x in row) for row in g))
        g = [[(s := (sum(g[(y + dy) % 12][(x + dx) % 24] for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - g[y][x])) == 3 or (s == 2 and g[y][x]) for x in range(24)] for y in range(12)]
    return '\n\n'.join(out)

@kind('12 week training')
def workout(r: Random) -> str: return '\n\n'.join(f'**Week {w}**\n' + '\n'.join(f"- {d}: {r.choice(['Rest', 'Easy run', 'Intervals', 'Long run', 'Tempo run'])} ({r.randint(3, 20)} km)" for d in ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']) for w in range(1, 17))

@kind('cleaning rota')
def rota(r: Random) -> str: return '\n'.join(f'| Week {w} | ' + ' | '.join(r.sample(FIRST[:5], 5)) + ' |' for w in range(1, 60))

@kind('bingo cards')
def bingo(r: Random) -> str: return '\n\n'.join('| B | I | N | G | O |\n|---|---|---|---|---|\n' + '\n'.join('| ' + ' | '.join(str(r.randint(1, 75)) for _ in range(5)) + ' |' for _ in range(5)) for _ in range(16))

@kind('empty weekly planner to print')
def planner(r: Random) -> str: return '\n\n'.join(f'## {d}\n\n| Time | Task | Done |\n|------|------|------|\n' + '\n'.join(f'| {h}:00 |      | [ ]  |' for h in range(7, 21)) for d in ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'])

@kind('tcpdump')
def tcpdump(r: Random) -> str: return '\n'.join(f"10:{r.randint(10, 59)}:{r.randint(10, 59)}.{r.randint(100000, 999999)} IP {ip(r)}.{r.randint(1024, 65000)} > 10.0.0.5.443: Flags [{r.choice(['S', '.', 'P.', 'F.'])}], seq {r.randint(1, 9 ** 9)}, ack {r.randint(1, 9 ** 9)}, win 501, length {r.choice([0, 0, 1448])}" for _ in range(80))

@kind('ping output')
def ping(r: Random) -> str: return '\n'.join(f'64 bytes from 10.0.0.1: icmp_seq={i} ttl=64 time={r.uniform(0.2, 0.9):.3f} ms' for i in range(1, 150))

@kind('ls -l')
def ls(r: Random) -> str: return '\n'.join(f'-rw-r--r-- 1 root root {r.randint(100, 99999):>8} Nov {r.randint(1, 30):>2} {r.randint(0, 23):02d}:{r.randint(0, 59):02d} {r.choice(NOUN)}_{i:03d}.dat' for i in range(120))

@kind('test run output')
def pytestout(r: Random) -> str: return '\n'.join((f'tests/test_{n}.py::Test{n.title()}::test_{r.choice(ADJ)}_{r.choice(NOUN)} PASSED [{i:3d}%]' for i, n in enumerate(NOUN * 2)))

@kind('tap output')
def tap(r: Random) -> str: return '\n'.join(f'ok {i} - {r.choice(NOUN)} {r.choice(VERB)}' for i in range(1, 301))

@kind('test output by number')
def tap2(r: Random) -> str: return '\n'.join(f'✓ test case {i} passed ({r.randint(1, 30)} ms)' for i in range(1, 200))

@kind('compile output')
def compile_(r: Random) -> str: return '\n'.join(f'[{i * 100 // 120:3d}%] Building CXX object src/CMakeFiles/core.dir/{r.choice(NOUN)}_{r.choice(NOUN)}.cpp.o' for i in range(120))

@kind('npm ls')
def npmls(r: Random) -> str: return '\n'.join(f'├─┬ @{r.choice(NOUN)}/{r.choice(NOUN)}@{r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 9)}\n│ └── deduped' for _ in range(90))

@kind('warnings of the linter')
def lint(r: Random) -> str: return '\n'.join(f'src/{r.choice(NOUN)}.ts\n  {r.randint(1, 400)}:{r.randint(1, 80)}  warning  Unexpected any. Specify a different type  @typescript-eslint/no-explicit-any\n  {r.randint(1, 400)}:{r.randint(1, 80)}  warning  Missing return type on function  @typescript-eslint/explicit-function-return-type\n' for _ in range(45))

@kind('stack traces')
def traces(r: Random) -> str: return '\n'.join(f'2026-11-30 10:{i:02d}:{r.randint(10, 59)} ERROR Request {hx(r, 8)} failed\nTraceback (most recent call last):\n  File "/app/server.py", line 212, in handle\n    result = await self.dispatch(request)\n  File "/app/dispatch.py", line 88, in dispatch\n    return await handler(**kwargs)\n  File "/app/db.py", line 41, in query\n    raise TimeoutError(f"query timed out after {{timeout}} s")\nTimeoutError: query timed out after 30 s' for i in range(7))

@kind('subtitles')
def srt(r: Random) -> str: return '\n\n'.join(f"{i}\n00:{i * 3 // 60:02d}:{i * 3 % 60:02d},000 --> 00:{(i * 3 + 2) // 60:02d}:{(i * 3 + 2) % 60:02d},500\n{r.choice(['[music playing]', 'Yeah.', 'Okay.', S(r), S(r)])}" for i in range(1, 110))

@kind('chat transcript with timestamps')
def chat(r: Random) -> str: return '\n'.join(f"[{10 + i // 60:02d}:{i % 60:02d}] <{r.choice(FIRST[:4]).lower()}> {r.choice(['lol', 'ok', 'yes', 'brb', '+1', S(r)])}" for i in range(160))

@kind('crontab')
def crontab(r: Random) -> str: return '\n'.join(f'{r.randint(0, 59)} {r.randint(0, 23)} * * * /usr/local/bin/backup.sh --target {n} --keep 7 >> /var/log/backup.log 2>&1' for n in NOUN)

@kind('nginx server blocks')
def nginx(r: Random) -> str: return '\n\n'.join((f'server {{\n    listen 443 ssl http2;\n    server_name {n}.example.com;\n    ssl_certificate /etc/letsencrypt/live/{n}.example.com/fullchain.pem;\n    ssl_certificate_key /etc/letsencrypt/live/{n}.example.com/privkey.pem;\n    location / {{\n        proxy_pass http://127.0.0.1:{8000 + i};\n        proxy_set_header Host $host;\n        proxy_set_header X-Real-IP $remote_addr;\n        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n        proxy_set_header X-Forwarded-Proto $scheme;\n    }}\n}}' for i, n in enumerate(NOUN[:20])))

@kind('iptables rules')
def iptables(r: Random) -> str: return '\n'.join(f'iptables -A INPUT -p tcp -s {ip(r)} --dport {r.choice([22, 80, 443])} -m conntrack --ctstate NEW,ESTABLISHED -j ACCEPT' for _ in range(80))

@kind('verilog case')
def verilog(r: Random) -> str: return '\n'.join(f"            8'h{i:02X}: seg = 7'b{r.randint(0, 127):07b};" for i in range(200))

@kind('robot moves')
def gcode(r: Random) -> str:
    x = 0
    return '\n'.join(f'G1 X{r.randint(0, 200)}.{r.randint(0, 99):02d} Y{r.randint(0, 200)}.{r.randint(0, 99):02d} E{i * 0.05:.4f} F1800' for i in range(250))

@kind('midi csv')
def midi(r: Random) -> str: return '\n'.join(f'2, {i * 120}, Note_on_c, 0, {r.choice([60, 62, 64, 65, 67])}, 80\n2, {i * 120 + 110}, Note_off_c, 0, {r.choice([60, 62, 64, 65, 67])}, 0' for i in range(120))

@kind('knitting pattern')
def knit(r: Random) -> str: return '\n'.join(f'Row {i}: ' + ', '.join(r.choice(['k2', 'p2', 'k1', 'p1', 'yo', 'k2tog', 'ssk']) for _ in range(12)) + '.' for i in range(1, 80))

@kind('simple scarf pattern row by row')
def knit2(r: Random) -> str: return '\n'.join(f"Row {i}: {('Knit all stitches.' if i % 2 else 'Purl all stitches.')}" for i in range(1, 61))

@kind('breathing exercise')
def breathe(r: Random) -> str: return '\n'.join(f"Minute {i}: Breathe in for four counts, hold for four counts, breathe out for {r.choice(['four', 'six', 'eight'])} counts. Notice your {r.choice(NOUN)}." for i in range(1, 31))

@kind('report comments for the pupils')
def reports(r: Random) -> str: return '\n\n'.join(f"**{f}** has made {r.choice(['good', 'very good', 'steady', 'some'])} progress in {r.choice(['maths', 'reading', 'writing', 'science'])} this term. {f} {r.choice(['works well with others', 'should ask for help more often', 'enjoys group work', 'needs to check spelling'])} and {r.choice(['always', 'usually', 'sometimes'])} completes homework on time." for f in FIRST)

@kind('product descriptions for the shop')
def products(r: Random) -> str: return '\n\n'.join(f'### {r.choice(ADJ).title()} {n.title()}\nThis {r.choice(ADJ)} {n} is perfect for any {r.choice(NOUN)}. Made from high-quality materials, it is built to last. Order now and get free shipping on your first purchase!\n- Price: ${r.randint(5, 400)}.99\n- Rating: {r.randint(3, 5)}/5\n- In stock: Yes' for n in NOUN[:36])

@kind('weather by city')
def weather(r: Random) -> str: return '\n'.join(f"In {c} it will be {r.choice(['sunny', 'cloudy', 'rainy', 'windy'])} with a high of {r.randint(5, 30)} degrees and a low of {r.randint(-5, 12)} degrees. The chance of rain is {r.randint(0, 100)} percent." for c in CITY * 2)

@kind('stat blocks for monsters')
def stats(r: Random) -> str: return '\n\n'.join(f'**{r.choice(ADJ).title()} {n.title()}**\n*Medium humanoid, neutral*\nArmor Class {r.randint(10, 18)}\nHit Points {r.randint(5, 90)}\nSpeed 30 ft.\nSTR {r.randint(6, 20)} DEX {r.randint(6, 20)} CON {r.randint(6, 20)} INT {r.randint(6, 20)} WIS {r.randint(6, 20)} CHA {r.randint(6, 20)}\nActions: Multiattack. The {n} makes two attacks.' for n in NOUN[:36])

@kind('glossary')
def glossary(r: Random) -> str: return '\n\n'.join(f'**{n.title()}**: a {r.choice(ADJ)} {r.choice(NOUN)} that {r.choice(VERB)} the {r.choice(NOUN)}.' for n in NOUN * 2)

@kind('parts of the bill')
def invoice(r: Random) -> str: return '\n'.join(f'{r.choice(NOUN).title():<24}{r.randint(1, 9):>4} x {r.randint(1, 90):>4}.00 EUR   {r.randint(1, 900):>6}.00 EUR' for _ in range(120))

@kind('journal entries for the whole month, nothing special happened')
def diary(r: Random) -> str: return '\n\n'.join(f"Day {d}. I got up at {r.choice(['six', 'seven', 'eight'])} and had {r.choice(['tea', 'coffee'])} and {r.choice(['toast', 'porridge', 'eggs'])}. {S(r)} In the evening I {r.choice(['read', 'watched a film', 'called my mother', 'went for a walk'])} and went to bed at {r.choice(['ten', 'eleven'])}." for d in range(1, 41))
ZN = ['客户', '订单', '产品', '账户', '会话', '报告', '计划', '政策', '设备', '传感器', '网络', '服务器', '请求', '响应', '队列', '缓存', '令牌', '集群', '区域', '发票', '港口', '花园', '市场', '灯笼', '山谷']
ZA = ['安静的', '明亮的', '古老的', '重要的', '新的', '远程的', '共享的', '临时的', '公开的', '私有的']

@kind('翻译这些句子')
def zh_trans(r: Random) -> str: return '\n\n'.join(f'{i}. The {r.choice(ADJ)} {r.choice(NOUN)}.\n   中文：{r.choice(ZA)}{r.choice(ZN)}。\n   拼音：略' for i in range(1, 80))

@kind('写一首诗')
def zh_poem(r: Random) -> str: return '\n'.join(''.join(r.choice('春夏秋冬山水云月风花雪夜江湖天地人心归来去远近高低明暗古今诗酒琴棋书画') for _ in range(7)) + '，' for _ in range(90))

@kind('列出城市')
def zh_table(r: Random) -> str: return '| 城市 | 人口 | 状态 |\n|---|---|---|\n' + '\n'.join(f"| {r.choice('北南东西')}{r.choice('京海山州安城')}市 | {r.randint(10, 2000)}万 | 正常 |" for _ in range(120))

@kind('思考', 'r')
def zh_think(r: Random) -> str: return '\n'.join(f"等等，让我再检查一下。当 n = {n} 时，{n} 的平方是 {n * n}，除以 7 余 {n * n % 7}。{('符合。' if n * n % 7 == 2 else '不符合。')}" for n in range(1, 70))

@kind('Übersetze die Liste')
def de_list(r: Random) -> str: return '\n'.join(f'- {n.title()}: der/die/das {n} (Plural: die {n}s), Beispiel: „Der {r.choice(LAST)} sieht den {n}.“' for n in NOUN * 2)

@kind('conjugue les verbes')
def fr_conj(r: Random) -> str: return '\n\n'.join(f'**{v}er**\n' + '\n'.join((f'- {p} {v}{e}' for p, e in (('je', 'e'), ('tu', 'es'), ('il/elle', 'e'), ('nous', 'ons'), ('vous', 'ez'), ('ils/elles', 'ent')))) for v in ['parl', 'chant', 'dans', 'march', 'travaill', 'regard', 'écout', 'jou', 'demand', 'aim', 'trouv', 'port', 'pass', 'mont', 'rest', 'entr', 'donn', 'cherch', 'pens', 'arriv'])

@kind('declension tables')
def latin_decl(r: Random) -> str: return '\n\n'.join('| Case | Singular | Plural |\n|---|---|---|\n' + '\n'.join((f'| {c} | {s}{a} | {s}{b} |' for c, a, b in (('Nominative', 'a', 'ae'), ('Genitive', 'ae', 'arum'), ('Dative', 'ae', 'is'), ('Accusative', 'am', 'as'), ('Ablative', 'a', 'is')))) for s in ['puell', 'ros', 'aqu', 'terr', 'silv', 'port', 'mens', 'naut', 'poet', 'vit', 'vi', 'lun', 'stell'])

@kind('emoji list')
def emoji(r: Random) -> str: return '\n'.join(f'{e} – {r.choice(ADJ)} {r.choice(NOUN)}' for e in '😀😃😄😁😆😅🤣😂🙂🙃😉😊😇🥰😍🤩😘😗😚😙🥲😋😛😜🤪😝🤑🤗🤭🤫🤔🤐🤨😐😑😶😏😒🙄😬🤥😌😔😪🤤😴😷🤒🤕🤢🤮🤧🥵🥶🥴😵🤯🤠🥳🥸😎🤓🧐')

@kind('emoji board')
def emojiboard(r: Random) -> str: return '\n'.join(''.join(r.choice('🟩🟩🟩🟦🟫🌲') for _ in range(16)) for _ in range(40))

@kind('star rating reviews')
def stars(r: Random) -> str: return '\n\n'.join(f"⭐⭐⭐⭐{r.choice(['⭐', '☆'])} {r.choice(FIRST)} {r.choice(LAST)[0]}.\n{S(r)}" for _ in range(60))

@kind('morse')
def morse(r: Random) -> str: return '\n'.join(' '.join(r.choice(['.-', '-...', '-.-.', '-..', '.', '..-.', '--.', '....', '..', '.---', '-.-', '.-..', '--', '-.', '---']) for _ in range(20)) for _ in range(60))

@kind('maze')
def maze(r: Random) -> str: return '\n'.join(''.join(r.choice(['██', '  ', '██']) for _ in range(24)) for _ in range(40))

@kind('progress bars')
def progress(r: Random) -> str: return '\n'.join(f"Downloading {r.choice(NOUN)}: [{'#' * (i // 2):<50}] {i}%" for i in range(101))

@kind('gantt')
def gantt(r: Random) -> str: return '\n'.join((f"{n:<12}|{' ' * i}{'█' * r.randint(3, 12)}" for i, n in enumerate(NOUN[:45])))

@kind('histogram')
def histo(r: Random) -> str: return '\n'.join(f"{i * 10:>4}-{i * 10 + 9:<4} | {'*' * r.randint(1, 60)}" for i in range(70))

@kind('wifi list / numeric data, arguments', 'a')
def args_floats(r: Random) -> str: return json.dumps({'path': 'data.json', 'content': json.dumps([[round(r.uniform(0, 1), 2) for _ in range(6)] for _ in range(200)])})

@kind('write file', 'a')
def args_csv(r: Random) -> str: return json.dumps({'path': 'd.csv', 'content': 'id,name,active,score\n' + '\n'.join(f'{i},{r.choice(FIRST)},true,0.0' for i in range(300))})

@kind('write fixture', 'a')
def args_rows(r: Random) -> str: return json.dumps({'path': 'fixtures.py', 'content': 'ROWS = [\n' + '\n'.join('    {"name": "item", "price": 0, "qty": 0, "tags": [], "parent": None},' for i in range(60)) + '\n]\n'})

@kind('todo list tool', 'a')
def args_todos(r: Random) -> str: return json.dumps({'todos': [{'content': f"{r.choice(['Fix', 'Add', 'Check'])} {r.choice(NOUN)} {r.choice(NOUN)}", 'status': 'pending', 'priority': 'medium', 'id': str(i)} for i in range(60)]})

@kind('edit tool', 'a')
def args_edits(r: Random) -> str: return json.dumps({'edits': [{'file': f'src/{n}.ts', 'old_string': "import { logger } from '../utils/logger';", 'new_string': "import { logger } from '@example/logger';"} for n in NOUN]})

@kind('shell', 'a')
def args_shell(r: Random) -> str: return json.dumps({'command': '\n'.join(f'mv src/{n}.js src/{n}.ts && git add src/{n}.ts' for n in NOUN)})

@kind('shell', 'a')
def args_curl(r: Random) -> str: return json.dumps({'command': '\n'.join(f"curl -s -o /dev/null -w '%{{http_code}}\\n' https://staging.example.com/api/v1/{n}s/{r.randint(1, 90)}" for n in NOUN)})

@kind('write story', 'a')
def args_story(r: Random) -> str: return json.dumps({'path': 'story.md', 'content': '\n\n'.join(' '.join(S(r) for _ in range(5)) for _ in range(25))})

@kind('batch', 'a')
def args_batch(r: Random) -> str: return json.dumps({'requests': [{'method': 'PATCH', 'url': f'/issues/{r.randint(1, 9999)}', 'body': {'state': 'closed', 'labels': ['stale'], 'assignee': None}} for _ in range(60)]})

@kind('spreadsheet', 'a')
def args_cells(r: Random) -> str: return json.dumps({'range': 'A1:F60', 'values': [[r.choice(FIRST), '', '', '', '', 0] for _ in range(60)]})
