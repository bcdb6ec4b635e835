"""Healthy texts of less usual kinds, in several languages: notations, liturgies, tables, tests, minutes, drills. Nothing in
them is a loop. As in `everyday`: each maker takes a seeded Random; `OFFBEAT` tells what it was asked for, and the
channels that it belongs to.
"""

# ruff: noqa: E501, PERF401, SIM905, RUF007  (recipes of one line each read best unbroken)
from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from .everyday import ADJ, CITY, FIRST, LAST, NOUN, VERB, Everyday, S, hx

OFFBEAT: dict[str, Everyday] = {}


def kind(prompt: str, channels: str = "tra"):
    """Note a maker under its name."""

    def noted(make: Callable[[Random], str]) -> Callable[[Random], str]:
        OFFBEAT[make.__name__] = Everyday(make, prompt, channels)
        return make

    return noted


# fmt: off
@kind('Give me the resistor colour table')
def resistors(r):
    colours = 'black brown red orange yellow green blue violet grey white'.split()
    return '| bands | ohms |\n|---|---|\n' + '\n'.join(f'| {a}, {b}, {c} | {(i * 10 + j) * 10 ** k} |' for k, c in enumerate(colours[:3]) for i, a in enumerate(colours[1:5], 1) for j, b in enumerate(colours))

@kind('Write the kana table with readings')
def kana(r):
    rows = {'k': 'かきくけこ', 's': 'さしすせそ', 't': 'たちつてと', 'n': 'なにぬねの', 'h': 'はひふへほ', 'm': 'まみむめも', 'r': 'らりるれろ'}
    return '\n'.join(f'- {k}行: ' + '、'.join(f'{sign}({k}{v})' for sign, v in zip(line, 'aiueo', strict=True)) for k, line in rows.items()) + '\n' + '\n'.join(f'{sign} は「{k}{v}」と読みます。' for k, line in rows.items() for sign, v in zip(line, 'aiueo', strict=True))

@kind('Multiplication drill in German, please')
def einmaleins(r):
    words = 'null eins zwei drei vier fünf sechs sieben acht neun zehn'.split()
    return '\n'.join(f'{words[a].capitalize()} mal {words[b]} ist {a * b}.' for a in range(1, 11) for b in range(1, 11))

@kind('Decline the nouns')
def declension(r):
    out = []
    for word in ('mesto', 'okno', 'pivo', 'auto', 'slovo', 'kolo', 'jablko', 'divadlo'):
        stem = word[:-1]
        out += [f'### {word}', f'1. pád: {word}', f'2. pád: bez {stem}a', f'3. pád: k {stem}u', f'4. pád: pro {word}', f'5. pád: {word}!', f'6. pád: o {stem}ě', f'7. pád: s {stem}em', '']
    return '\n'.join(out)

@kind('Conjugate these Spanish verbs in the present')
def presente(r):
    out = []
    for verb in 'hablar cantar bailar trabajar estudiar viajar caminar cocinar mirar escuchar comprar llevar'.split():
        out += [f'**{verb}**', *(f'- {who} {verb[:-2]}{end}' for who, end in zip(('yo', 'tú', 'él/ella', 'nosotros', 'vosotros', 'ellos/ellas'), ('o', 'as', 'a', 'amos', 'áis', 'an'), strict=True)), '']
    return '\n'.join(out)

@kind('Write the bell ringing changes for plain hunt on six', 'ta')
def bells(r):
    row, out = list('123456'), []
    for i in range(12):
        out.append(' '.join(row))
        for at in range(i % 2, 5, 2):
            row[at], row[at + 1] = row[at + 1], row[at]
    return '\n'.join(out)

@kind('Chess moves of the whole match with clock times', 'ta')
def clocked(r):
    piece = ['e4', 'Nf3', 'Bb5', 'O-O', 'Re1', 'd4', 'c3', 'Qd2', 'Rad1', 'h3', 'a4', 'Bxc6', 'dxe5', 'Qxd8']
    return ' '.join(f'{i}. {r.choice(piece)} {{[%clk 1:{59 - i // 2:02d}:{r.randint(0, 59):02d}]}} {r.choice(piece)} {{[%clk 1:{58 - i // 2:02d}:{r.randint(0, 59):02d}]}}' for i in range(1, 61))

@kind('Transcribe the solo as drum tablature', 'ta')
def drumtab(r):
    out = []
    for bar in range(16):
        out += [f'Bar {bar + 1}', *('|'.join([name, ''.join(r.choice('x-------o---') if r.random() < 0.4 else '-' for _ in range(16)), '']) for name in ('HH', 'SD', 'BD')), '']
    return '\n'.join(out)

@kind('ABC notation for the reel', 'ta')
def reel(r):
    return 'X:1\nT:The Harbour Reel\nM:4/4\nL:1/8\nK:D\n' + '\n'.join('|' + '|'.join(''.join(r.choice('ABcdefgFGAD') + r.choice(['', '', '2']) for _ in range(7)) for _ in range(4)) + '|' for _ in range(12))

@kind('LilyPond source of the canon', 'ta')
def lilypond(r):
    return '\\version "2.24.0"\n' + '\n'.join(f'voice{n} = \\relative c\' {{\n  ' + ' | '.join(' '.join(r.choice(['c4', 'd4', 'e4', 'f8', 'g8', 'a4', 'b4']) for _ in range(4)) for _ in range(10)) + '\n}' for n in ('One', 'Two', 'Three', 'Four'))

@kind('Assemble the 6502 program', 'ta')
def mos6502(r):
    out = []
    for i in range(60):
        out.append(f'{0x8000 + 3 * i:04X}  {r.choice(["A9", "8D", "AD", "4C"])} {r.randint(0, 255):02X} {r.randint(0, 255):02X}  {r.choice(["LDA", "STA", "JMP"])} ${r.randint(0, 65535):04X}')
    return '\n'.join(out)

@kind('WebAssembly text of the module', 'ta')
def wat(r):
    return '(module\n' + '\n'.join(f'  (func ${r.choice(VERB)}_{i} (param $a i32) (param $b i32) (result i32)\n    local.get $a\n    local.get $b\n    i32.{r.choice(["add", "sub", "mul", "and", "or", "xor"])})\n  (export "{r.choice(NOUN)}{i}" (func {i}))' for i in range(30)) + '\n)'

@kind('LLVM IR for it', 'ta')
def llvm(r):
    return 'define i32 @main() {\nentry:\n' + '\n'.join(f'  %{i} = {r.choice(["add", "sub", "mul"])} nsw i32 %{max(0, i - 1)}, {r.randint(0, 99)}' for i in range(1, 90)) + '\n  ret i32 %89\n}'

@kind('PostScript drawing', 'ta')
def postscript(r):
    return '%!PS\n' + '\n'.join(f'newpath {r.randint(10, 500)} {r.randint(10, 700)} moveto {r.randint(10, 500)} {r.randint(10, 700)} lineto stroke' for _ in range(60)) + '\nshowpage'

@kind('Regular expressions for the dates of every country', 'ta')
def regexes(r):
    return '\n'.join(f'{r.choice(CITY).lower()}_{i}: ^(?:[0-2]\\d|3[01])[-/.](?:0\\d|1[0-2])[-/.](?:19|20)\\d{{2}}(?:[ T][0-2]\\d:[0-5]\\d){"?" if i % 2 else ""}$' for i in range(40))

@kind('LaTeX: the rotation matrices', 'tr')
def rotations(r):
    return '\n\n'.join(f'R_{axis}({angle}^\\circ) = \\begin{{pmatrix}} {a} & 0 & {b} \\\\ 0 & 1 & 0 \\\\ -{b} & 0 & {a} \\end{{pmatrix}}' for axis in 'xyz' for angle, a, b in ((30, '\\sqrt{3}/2', '1/2'), (45, '\\sqrt{2}/2', '\\sqrt{2}/2'), (60, '1/2', '\\sqrt{3}/2'), (90, '0', '1'), (180, '-1', '0')))

@kind('Integrate each of them')
def integrals(r):
    return '\n\n'.join(f'{n}. $\\int x^{n} e^{{{k}x}}\\,dx$: let $u = x^{n}$ and $dv = e^{{{k}x}}dx$, so $du = {n}x^{n - 1}dx$ and $v = e^{{{k}x}}/{k}$. Then the integral is $x^{n}e^{{{k}x}}/{k} - {n}/{k}\\int x^{n - 1}e^{{{k}x}}\\,dx$.' for n, k in ((n, r.randint(2, 9)) for n in range(2, 16)))

@kind('Unit tests for the converter, one a unit', 'ta')
def converter_tests(r):
    out = []
    for unit in 'metre foot inch yard mile gram pound ounce stone litre gallon pint kelvin celsius'.split():
        out += [f'    def test_{unit}_to_base(self):', f'        self.assertAlmostEqual(convert({r.randint(1, 99)}, "{unit}", "base"), {r.random() * 100:.4f}, places=4)', '', f'    def test_base_to_{unit}(self):', f'        self.assertAlmostEqual(convert({r.randint(1, 99)}, "base", "{unit}"), {r.random() * 100:.4f}, places=4)', '']
    return 'class Conversions(TestCase):\n' + '\n'.join(out)

@kind('Property list of the app', 'ta')
def plist(r):
    return '<plist version="1.0">\n<dict>\n' + '\n'.join(f'  <key>NS{a}{b}UsageDescription</key>\n  <string>The app needs your {a.lower()} to show the {b.lower()}.</string>' for a in ('Camera', 'Location', 'Contacts', 'Calendar', 'Photos') for b in ('Map', 'List', 'Profile', 'Feed')) + '\n</dict>\n</plist>'

@kind('Excel formulas for each month', 'ta')
def excel(r):
    return '\n'.join(f'{month}: =SUMIFS(Data!$D:$D;Data!$A:$A;">="&DATE(2026;{i};1);Data!$A:$A;"<"&DATE(2026;{i + 1};1);Data!$B:$B;{cell}2)' for i, month in enumerate('Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(), 1) for cell in 'BCD')

@kind('SQL: total by region and year', 'ta')
def unions(r):
    return '\nUNION ALL\n'.join(f"SELECT '{city}' AS region, {year} AS year, SUM(amount) AS total FROM sales_{city.lower()} WHERE YEAR(sold_at) = {year}" for city in CITY[:9] for year in (2023, 2024, 2025))

@kind('Legal: definitions of the contract')
def definitions(r):
    return '\n'.join(f'"{a.title()} {n.title()}" means the {n} described in Schedule {i} as amended from time to time in accordance with clause {r.randint(2, 30)}.' for i, (a, n) in enumerate(((r.choice(ADJ), r.choice(NOUN)) for _ in range(45)), 1))

@kind('Rédige les statuts de notre association')
def statuts(r):
    sujets = 'Dénomination Objet Siège Durée Membres Cotisation Radiation Ressources Bureau Réunions Quorum Votes Comptes Contrôle Dissolution Liquidation'.split()
    return '\n\n'.join(f"Article {i} – {sujet}\nLe présent article règle la question suivante : {sujet.lower()} de l'association. Toute décision relative à ce point est prise par l'assemblée générale à la majorité des membres présents, sauf en matière de {sujets[i % 16].lower()}, où une majorité des deux tiers est requise." for i, sujet in enumerate(sujets, 1))

@kind('Schreibe die Fürbitten für Sonntag')
def fuerbitten(r):
    wer = ['die Kranken', 'die Einsamen', 'die Kinder', 'die Flüchtlinge', 'die Arbeitslosen', 'unsere Verstorbenen', 'alle Lehrerinnen und Lehrer', 'die Regierenden', 'die Hungernden', 'die Trauernden', 'unsere Gemeinde', 'die Gefangenen']
    return '\n\n'.join(f'Wir beten für {w}: dass sie {r.choice(["Trost finden", "Hoffnung schöpfen", "nicht vergessen werden", "Hilfe erfahren"])} und {r.choice(["Frieden", "Mut", "Kraft", "Geduld"])} erleben.\nGott, unser Vater: Wir bitten dich, erhöre uns.' for w in wer)

@kind('Write the call and response for the service')
def responses(r):
    who = ['the sick', 'the lonely', 'travellers', 'farmers', 'teachers', 'those who grieve', 'our leaders', 'prisoners', 'children', 'the hungry', 'our enemies', 'the dying', 'artists', 'nurses', 'seafarers']
    return '\n\n'.join(f'For {w}, let us pray to the Lord.\nLord, hear our prayer.' for w in who)

@kind('The ten green men song in Dutch')
def tien(r):
    woord = 'nul een twee drie vier vijf zes zeven acht negen tien'.split()
    return '\n\n'.join(f'{woord[i].capitalize()} kleine visjes zwommen naar de zee,\n{woord[i]} kleine visjes zwommen naar de zee.\nToen zei de ene: ik ga niet mee,\nen toen waren er nog {woord[i - 1]}.' for i in range(10, 0, -1))

@kind('Hush little baby, all verses, please write the song')
def hush(r):
    things = 'mockingbird,diamond ring,looking glass,billy goat,cart and bull,dog named Rover,horse and cart'.split(',')
    return '\n\n'.join(f"If that {a} won't stay,\nPapa's gonna buy you a {b} today." for a, b in zip(things, things[1:], strict=False))

@kind('Write a pantun collection in Malay')
def pantun(r):
    return '\n\n'.join(f'Pergi ke {r.choice(CITY)} membeli {r.choice(["kain", "buku", "ikan", "gula", "beras"])},\nSinggah sebentar di rumah {r.choice(FIRST)};\nHati yang {r.choice(["sabar", "jujur", "tulus", "ikhlas"])} tidak akan {r.choice(["kalah", "goyah", "rugi", "resah"])},\nBegitulah pesan {r.choice(["ibu", "ayah", "nenek", "guru"])} kepada kita.' for _ in range(18))

@kind('List the train stops with times', 'ta')
def stops(r):
    return '\n'.join(f'{5 + i // 4:02d}:{i * 15 % 60:02d}  {city:<10} platform {r.randint(1, 9)}' for i, city in enumerate(CITY * 3))

@kind('Print the bus timetable', 'ta')
def bus(r):
    return '| stop | ' + ' | '.join(f'run {n}' for n in range(1, 8)) + ' |\n|' + '---|' * 8 + '\n' + '\n'.join(f'| {city} | ' + ' | '.join(f'{6 + n:02d}:{(i * 4 + n * 7) % 60:02d}' for n in range(7)) + ' |' for i, city in enumerate(CITY))

@kind('Subtitles of a quiet film', 'ta')
def quiet_film(r):
    lines = ['[wind]', '[footsteps]', '[music]', 'Hello?', 'Who is there?', '[door creaks]', 'Nobody.']
    return '\n\n'.join(f'{i}\n00:{i // 15:02d}:{i * 4 % 60:02d},{r.randint(0, 999):03d} --> 00:{i // 15:02d}:{i * 4 % 60 + 3:02d},{r.randint(0, 999):03d}\n{r.choice(lines) if r.random() < 0.6 else S(r)}' for i in range(1, 90))

@kind('LRC file for karaoke', 'ta')
def lrc(r):
    chorus = ['Sing it out, sing it loud', 'Over the river and over the crowd', 'Sing it out, sing it clear', 'Everything we wanted is here']
    verse = [f'{r.choice(FIRST)} went to {r.choice(CITY)} with a {r.choice(ADJ)} {r.choice(NOUN)}' for _ in range(24)]
    lines = verse[:8] + chorus + verse[8:16] + chorus + verse[16:] + chorus
    return '\n'.join(f'[{i * 4 // 60:02d}:{i * 4 % 60:02d}.{r.randint(0, 99):02d}]{line}' for i, line in enumerate(lines))

@kind('Show what the watch command printed', 'ta')
def watch_command(r):
    return '\n'.join(f'Every 2.0s: kubectl get pods   Mon Nov 30 12:{i // 30:02d}:{i * 2 % 60:02d} 2026\n\nNAME      READY   STATUS    RESTARTS   AGE\napi-{hx(r, 5)}   1/1   Running   {r.randint(0, 3)}   {i}m' for i in range(30))

@kind('Convert the GPS log', 'ta')
def nmea(r):
    return '\n'.join(f'$GPGGA,{i:06d}.00,{4700 + r.random() * 50:.4f},N,{800 + r.random() * 50:.4f},E,1,{r.randint(4, 12):02d},0.9,{400 + r.random() * 50:.1f},M,47.0,M,,*{r.randint(0, 255):02X}' for i in range(90))

@kind('Translate each row', 'tra')
def glossary_four(r):
    words = [('bread', 'Brot', 'pain', 'pan'), ('water', 'Wasser', 'eau', 'agua'), ('house', 'Haus', 'maison', 'casa'), ('tree', 'Baum', 'arbre', 'árbol'), ('dog', 'Hund', 'chien', 'perro'), ('cat', 'Katze', 'chat', 'gato'), ('day', 'Tag', 'jour', 'día'), ('night', 'Nacht', 'nuit', 'noche'), ('sun', 'Sonne', 'soleil', 'sol'), ('moon', 'Mond', 'lune', 'luna'), ('book', 'Buch', 'livre', 'libro'), ('hand', 'Hand', 'main', 'mano')]
    return '\n'.join(f'English: the {a} is {adj[0]}.\nDeutsch: {b} – {adj[1]}.\nFrançais : {c} – {adj[2]}.\nEspañol: {d} – {adj[3]}.\n' for a, b, c, d in words for adj in (('big', 'groß', 'grand', 'grande'), ('small', 'klein', 'petit', 'pequeño')))

@kind('请逐句翻译')
def zh_lines(r):
    pairs = [('The door is open.', '门开着。'), ('Please sit down.', '请坐。'), ('Where is the station?', '车站在哪里？'), ('How much is this?', '这个多少钱？'), ('I do not understand.', '我听不懂。'), ('Could you repeat that?', '您能再说一遍吗？'), ('I would like some tea.', '我想喝茶。'), ('The bill, please.', '请结账。'), ('Is it far from here?', '离这里远吗？'), ('Turn left at the bank.', '在银行左转。'), ('Good night.', '晚安。'), ('See you tomorrow.', '明天见。')]
    return '\n\n'.join(f'原文：{a}\n译文：{b}\n说明：这是一个{r.choice(["常用", "礼貌", "口语", "书面"])}的{r.choice(["说法", "表达", "句子"])}。' for a, b in pairs)

@kind('写一份会议纪要')
def zh_minutes(r):
    return '\n'.join(f'{i}. {r.choice(["市场部", "研发部", "财务部", "人事部", "客服部"])}{r.choice(["汇报了", "讨论了", "提出了", "确认了"])}{r.choice(["第三季度预算", "新产品计划", "招聘进度", "客户反馈", "系统升级方案", "培训安排"])}，负责人：{r.choice("王李张刘陈杨")}{r.choice(["明", "芳", "强", "丽", "军"])}，期限：{r.randint(1, 12)}月{r.randint(1, 28)}日。' for i in range(1, 41))

@kind('日本語の例文を作って')
def ja_examples(r):
    verbs = [('食べる', '食べます', '食べません'), ('飲む', '飲みます', '飲みません'), ('行く', '行きます', '行きません'), ('見る', '見ます', '見ません'), ('書く', '書きます', '書きません'), ('読む', '読みます', '読みません'), ('話す', '話します', '話しません'), ('買う', '買います', '買いません'), ('待つ', '待ちます', '待ちません'), ('泳ぐ', '泳ぎます', '泳ぎません')]
    return '\n\n'.join(f'【{a}】\n肯定形：私は毎日{b}。\n否定形：私は毎日{c}。\n疑問形：あなたは毎日{b}か。' for a, b, c in verbs)

@kind('한국어 숫자를 세어 줘')
def ko_numbers(r):
    units = ['명', '개', '권', '마리', '대', '잔', '병']
    return '\n'.join(f'{n} {unit}: {word} {unit}이(가) 있습니다.' for unit in units for n, word in enumerate('한 두 세 네 다섯 여섯 일곱 여덟 아홉 열'.split(), 1))

@kind('اكتب جدول الضرب')
def ar_times(r):
    return '\n'.join(f'{a} × {b} = {a * b}' for a in range(2, 10) for b in range(1, 11))

@kind('Склоняй числительные')
def ru_cases(r):
    cases = [('именительный', 'кто? что?'), ('родительный', 'кого? чего?'), ('дательный', 'кому? чему?'), ('винительный', 'кого? что?'), ('творительный', 'кем? чем?'), ('предложный', 'о ком? о чём?')]
    nouns = 'стол стул дом лес сад мост нос рот зуб лоб'.split()
    return '\n\n'.join(f'Слово «{n}»\n' + '\n'.join(f'{name} ({q}): {n}{end}' for (name, q), end in zip(cases, ('', 'а', 'у', '', 'ом', 'е'), strict=True)) for n in nouns)

@kind('Make the braille cells table', 'ta')
def braille(r):
    return '\n'.join(f'{chr(97 + i)}  {chr(0x2801 + (i * 7) % 63)}  dots {" ".join(str(d + 1) for d in range(6) if (i * 7 + 1) >> d & 1)}' for i in range(26))

@kind('Draw a chess board with the pieces', 'ta')
def board(r):
    return '\n\n'.join(f'After move {i}:\n  +---+---+---+---+---+---+---+---+\n' + '\n  +---+---+---+---+---+---+---+---+\n'.join(f'{8 - y} | ' + ' | '.join(r.choice('rnbqkpRNBQKP          ') for _ in range(8)) + ' |' for y in range(8)) + '\n  +---+---+---+---+---+---+---+---+' for i in range(1, 4))

@kind('Tic tac toe: play all of it', 'tr')
def tictactoe(r):
    cells, out = [' '] * 9, []
    for turn, at in enumerate(r.sample(range(9), 9)):
        cells[at] = 'XO'[turn % 2]
        out.append(f'Move {turn + 1}: {cells[at]} plays square {at + 1}.\n' + '\n---+---+---\n'.join(f' {cells[n]} | {cells[n + 1]} | {cells[n + 2]} ' for n in (0, 3, 6)))
    return '\n\n'.join(out)

@kind('Trace the Collatz sequence of 27', 'tr')
def collatz(r):
    n, out = 27, []
    while n != 1:
        out.append(f'{n} is {"odd" if n % 2 else "even"}, so the next number is {3 * n + 1 if n % 2 else n // 2}.')
        n = 3 * n + 1 if n % 2 else n // 2
    return '\n'.join(out)

@kind('Run the extended Euclid by hand', 'tr')
def euclid(r):
    a, b, out = 832040, 514229, []
    while b:
        out.append(f'{a} = {a // b} · {b} + {a % b}, so gcd({a}, {b}) = gcd({b}, {a % b}).')
        a, b = b, a % b
    return '\n'.join(out)

@kind('Game of twenty questions', 'tr')
def questions(r):
    return '\n'.join(f'Question {i}: Is it {r.choice(["bigger than", "older than", "made of", "found near", "used with", "sold beside"])} a {r.choice(ADJ)} {r.choice(NOUN)}?\nAnswer: {r.choice(["Yes.", "No.", "Sometimes.", "I would say no."])}' for i in range(1, 41))

@kind('Diff of the whole refactoring', 'ta')
def diff_imports(r):
    return '\n'.join(f'diff --git a/src/{n}.py b/src/{n}.py\nindex {hx(r, 7)}..{hx(r, 7)} 100644\n--- a/src/{n}.py\n+++ b/src/{n}.py\n@@ -1,3 +1,3 @@\n import logging\n-from core.utils import {v}\n+from core.tools import {v}\n ' for n, v in ((r.choice(NOUN) + str(i), r.choice(VERB)) for i in range(20)))

@kind('Changelog in Keep a Changelog form', 'ta')
def keepachangelog(r):
    return '\n'.join(f'## [{2 - i // 10}.{9 - i % 10}.0] - 20{25 - i // 6}-{12 - i % 12:02d}-{r.randint(1, 28):02d}\n\n### Added\n\n- {S(r)}\n\n### Fixed\n\n- {S(r)}\n' for i in range(18))

@kind('CODEOWNERS for the repository', 'ta')
def codeowners(r):
    return '\n'.join(f'/packages/{a}-{n}/ @acme/{n}-team @{r.choice(FIRST).lower()}' for a, n in ((r.choice(ADJ), r.choice(NOUN)) for _ in range(60)))

@kind('The Markdown checklist for the move')
def moving(r):
    return '\n\n'.join(f'## {room}\n\n' + '\n'.join(f'- [ ] {v} the {r.choice(ADJ)} {r.choice(NOUN)}' for v in ('Wrap', 'Label', 'Box', 'Measure', 'Clean', 'Photograph')) for room in ('Kitchen', 'Bathroom', 'Bedroom', 'Office', 'Attic', 'Cellar', 'Garage', 'Hall'))

@kind('GraphQL fragments', 'ta')
def fragments(r):
    return '\n\n'.join(f'fragment {n.title()}Fields on {n.title()} {{\n  id\n  createdAt\n  updatedAt\n  owner {{ id name }}\n  {r.choice(NOUN)}\n}}' for n in NOUN[:30])

@kind('Redux reducer cases', 'ta')
def redux(r):
    return '\n'.join(f"    case '{n.upper()}_{v}':\n      return {{ ...state, {n}: {{ ...state.{n}, loading: {'true' if v == 'REQUEST' else 'false'}, error: {'action.error' if v == 'FAILURE' else 'null'} }} }};" for n in NOUN[:14] for v in ('REQUEST', 'SUCCESS', 'FAILURE'))

@kind('Write the Solidity interface', 'ta')
def solidity(r):
    return '\n'.join(f'    function {v}{n.title()}(address owner, uint256 amount) external returns (bool);\n    event {n.title()}{v.title()}(address indexed owner, uint256 amount);' for v, n in zip(VERB, NOUN, strict=False))

@kind('Ledger journal for the month', 'ta')
def ledger(r):
    return '\n\n'.join(f'2026-11-{1 + i % 28:02d} * {r.choice(LAST)} {r.choice(["Market", "Books", "Fuel", "Cafe"])}\n    Expenses:{r.choice(["Food", "Home", "Travel"])}    {r.random() * 90:.2f} EUR\n    Assets:Checking' for i in range(45))

@kind('Seating plan, table by table')
def seating(r):
    return '\n\n'.join(f'**Table {t}**\n' + '\n'.join(f'- Seat {s}: {r.choice(FIRST)} {r.choice(LAST)}' for s in range(1, 9)) for t in range(1, 13))

@kind('Fill the JSON fixture with users', 'ta')
def users(r):
    return json.dumps([{'id': i, 'name': f'{r.choice(FIRST)} {r.choice(LAST)}', 'active': True, 'roles': ['user'], 'address': {'city': r.choice(CITY), 'zip': None, 'country': None}, 'tags': [], 'deleted_at': None} for i in range(40)], indent=2, ensure_ascii=False)

@kind('Think about which tests fail', 'r')
def which_tests(r):
    return '\n'.join(f'Test {i}: expects {r.choice(NOUN)} to be {r.choice(ADJ)}, and the new code returns {r.choice(ADJ)}. {r.choice(["So it fails.", "That passes.", "Fails, but for another reason.", "Passes after the fix."])}' for i in range(1, 50))

@kind('Think through the permissions', 'r')
def permissions(r):
    return '\n'.join(f'Wait, can {who} {v} the {n}? {r.choice(["Yes, by role", "No, only the owner", "Yes, but only when shared", "No, it is archived"])} ({r.choice(FIRST)} said so in rule {r.randint(1, 40)}).' for who in ('a guest', 'a member', 'an editor', 'the owner') for v in ('read', 'change', 'delete') for n in ('report', 'invoice', 'ticket', 'account'))

@kind('Denk laut über die Reihenfolge nach', 'r')
def reihenfolge(r):
    return ' '.join(f'Wenn {r.choice(FIRST)} vor {r.choice(FIRST)} sitzt, dann kann {r.choice(FIRST)} nicht neben {r.choice(FIRST)} sitzen, also {r.choice(["scheidet Fall", "bleibt Fall", "widerspricht das Fall"])} {i}{r.choice([" aus", "", " nicht"])}.' for i in range(1, 40))

@kind('Rows of the periodic table as CSV', 'ta')
def elements(r):
    symbols = 'H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr'.split()
    return 'number,symbol,group,period,mass,phase,found\n' + '\n'.join(f'{i},{s},{r.randint(1, 18)},{1 + i // 10},{i * 2.01:.3f},{r.choice(["gas", "solid", "liquid"])},{r.randint(1700, 1950)}' for i, s in enumerate(symbols, 1))

@kind('Cron descriptions', 'ta')
def crons(r):
    return '\n'.join(f'{m} {h} * * {d}   # at {h:02d}:{m:02d} on {name}' for d, name in enumerate('Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split()) for h, m in ((r.randint(0, 23), r.randint(0, 59)) for _ in range(7)))

@kind('Bitmap font of the digits', 'ta')
def bitmap_font(r):
    return '\n'.join(f'    // {c}\n    {{ ' + ', '.join(f'0b{r.randint(0, 255):08b}' for _ in range(8)) + ' },' for c in '0123456789ABCDEF')

@kind('Cross stitch pattern, 40 by 24', 'ta')
def stitch(r):
    return '\n'.join(''.join('X' if (x + y) % 8 == 0 or (x - y) % 8 == 0 else '.' for x in range(40)) for y in range(24))
# fmt: on
