"""The sizes that a person asks for: "50 times", "60 seats", "a 40x40 grid", "for 14 days", "384-dimensional".

A number is a wish only where the clause asks for something to be made ("write", "list", "fill", in the languages people
write), or is only the name of a thing ("100 facts about tea"). It must count something in the answer: "line 12",
"1920x1080", "in 500 words" and "the last 30 days" do not. Everything is linear in the text and bounded.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

MOST: Final = 100_000
"""The largest count. A larger one is read as this one, because no answer is that long."""
SIZES: Final = 16
"""Sizes of one request that are kept."""
CLAUSE: Final = 400
"""Characters of a clause that are read: people put the verb, the number and the thing close together."""

Kind = Literal["times", "parts", "items", "lines", "cells", "characters"]
"""What is counted: whole repetitions of anything; parts of many lines (days, forms); items of a line each; lines,
whatever is in them; small things side by side; characters."""
FEW: Final = 20
"""Up to so many things may have many lines each ("six meetings"); of more things, each is one line ("100 names")."""


class Size(NamedTuple):
    """A count and the kind of thing that it counts."""

    kind: Kind
    many: int
    wide: int = 0
    """Cells in a row of a grid, 0 where it is no grid."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MAKE: Final = _words(
    """
    write writes print type output say repeat list give generate create make produce draw fill seed add compose
    recite sing chant spell count name show tell insert prepare provide build design plan populate enumerate
    invent suggest need want brainstorm put return classify categorize categorise label score rate grade
    translate annotate tag answer include display echo copy rewrite extend expand simulate render construct
    define declare initialize initialise mock continue propose recommend outline present sketch turn do act play
    escribe escriba escribir repite repita repetir imprime imprimir genera generar haz crea crear lista dame
    dibuja rellena enumera escreva escreve escrever imprima gere gerar crie criar faça liste desenhe écris
    écrire écrivez répète répétez répéter affiche affichez génère générez crée créez fais faites donne donnez
    dessine schreib schreibe schreiben wiederhole gib gebe erstelle erzeuge mache mach nenne zeichne drucke
    zähle scrivi scrivere ripeti stampa crei fai elenca dammi disegna schrijf herhaal maak geef noem teken
    napisz powtórz wypisz podaj stwórz yaz tekrarla listele oluştur напиши напишите повтори повторите создай
    создайте выведи сгенерируй составь составьте дай перечисли нарисуй сделай اكتب اكتبي كرر كرري اطبع أعد اذكر
    skriv upprepa gentag gjenta viết lặp napiš zopakuj toista kirjoita tulis ulangi
    """
)
_LAST: Final = _words(
    """
    yaz yazın tekrarla listele oluştur
    """
)
"""Verbs that stand at the end of their clause."""
_MAKE_SIGNS: Final = re.compile(
    r"写|寫|重复|重複|输出|輸出|列出|生成|打印|画|畫|制作|製作|创建|创作|抄|给我|給我|書い|書け|繰り返|出力|作っ|作成|描い|挙げ"
    r"|쓰|써|반복|출력|만들|적어|나열|그려|생성"
)
_NUMBERS: Final = {
    word: number
    for number, words in {
        2: "two zwei deux dos dois due два", 3: "three drei trois tres três tre три", 4: "four vier quatre cuatro",
        5: "five fünf cinq cinco cinque пять", 6: "six sechs seis sei шесть", 7: "seven sieben sept siete sete sette",
        8: "eight acht huit ocho oito otto", 9: "nine neun neuf nueve nove", 10: "ten zehn dix diez dez dieci десять",
        11: "eleven", 12: "twelve dozen", 13: "thirteen", 14: "fourteen", 15: "fifteen", 16: "sixteen", 17: "seventeen",
        18: "eighteen", 19: "nineteen", 20: "twenty zwanzig vingt veinte", 30: "thirty", 40: "forty", 50: "fifty",
        60: "sixty", 70: "seventy", 80: "eighty", 90: "ninety", 100: "hundred hundert cent cien cem cento сто",
        1000: "thousand tausend mille mil",
    }.items()
    for word in words.split()
}  # fmt: skip
_TIMES: Final = _words(
    """
    times copies copy repetitions repeats reps rounds veces vezes fois mal volte раз keer razy kez kere مرة مرات
    gånger ganger gange lần krát kertaa kali
    """
)
_CELLS: Final = _words(
    """
    zeros zeroes ones nulls emoji emojis stars asterisks dots dashes hyphens spaces dimensional dimensions dim
    dims elements element values zeichen cells tiles bits floats ints integers numbers digits
    """
)
_LINES: Final = _words(
    """
    line lines row rows líneas filas linhas lignes zeilen righe regels wierszy satır строк строки
    """
)
_PARTS: Final = _words(
    """
    day days week weeks month months section sections chapter chapters meeting meetings episode episodes form
    forms cards letters emails stanzas verses paragraphs tage días jours dias giorni дней
    """
)
_CHARACTERS: Final = _words(
    """
    characters character chars char letters letter byte bytes caracteres zeichen
    """
)
_MEASURES: Final = _words(
    """
    word words page pages minute second seconds hour hours hr hrs min mins sec secs year years yr yrs yo percent
    dollar dollars usd eur euro euros gbp cents pound pounds kg g lb lbs oz km m cm mm mi mile miles ft foot
    feet inch inches in px pixel pixels mb gb kb tb mib gib kib ms us ns hz khz mhz ghz fps dpi token tokens
    degrees degree k million billion trillion am pm st nd rd th old age mah mg ml l liter liters litre litres w
    watt watts v volts palabras mots wörter wörtern parole palavras слов people person persons players calories
    cups cup tablespoons teaspoons
    """
)
"""Units that count no repetition, or that measure something in the world."""
_NOT_BEFORE: Final = _words(
    """
    about under than within after before per every each last past from at by version v python chapter step line
    page section number no grade age aged over until since between on port only is are was were and equals equal
    top-level part lines figure table item question case issue task phase level day week month year room apt
    class unit
    """
)
_MORE: Final = _words(
    """
    about than within after before per every each last past until since between
    """
)
_CODE: Final = _words(
    """
    script program function code loop method test tests app bot class query macro command algorithm api endpoint
    retries retry
    """
)
_RUNS: Final = _words(
    """
    that which to for who runs run running loops loop calls call called executes execute retries
    """
)
"""Where this stands behind a word for code, the code repeats and not the answer."""
_BARE: Final = re.compile(
    r"\s*(?:please |my |an? |the |another |next |first |top |all |only |just |exactly |list of |"
    r"ok(?:ay)?,? |[-*] ){0,4}"
    r"(?:(?:[a-z]{1,20} ){0,2}[a-z]{1,20}(?:,| of| with) )?"
    r"(?:\d|(?:two|three|four|five|six|seven|eight|nine|ten|twelve|dozen|fifteen|twenty|thirty|forty|fifty|sixty|hundred|thousand)\b)",
    re.IGNORECASE,
)
"""A clause that is nothing but the thing: "100 facts", "a table with 12 rows", "the next fifty"."""
_SPLIT: Final = re.compile(r"[\n!?;。！？；]|\.(?=\s|$)|:(?=\s)")
_TOKEN: Final = re.compile(r"\d[\d,.]*|[^\W\d_]+|[x×*#$€£:/%]")
_SIGNS: Final = re.compile(
    r"(\d{1,6})\s?(?:(次|遍|回|번)|(行|个|個|条|條|項|项|篇|首|つ|本|件|개|줄|행|가지|天|日分|일)|(字符|文字|글자|자))"
)
_KINDS: Final[tuple[Kind, ...]] = ("times", "items", "characters")


def sizes(text: str) -> tuple[Size, ...]:
    """The sizes that `text`, what a person wrote, asks for: the first 16."""
    found: list[Size] = []
    clauses = [clause[:CLAUSE] for clause in _SPLIT.split(text) if clause and not clause.isspace()]
    for at, clause in enumerate(clauses):
        if len(found) >= SIZES:
            break
        if not any(map(str.isdigit, clause)) and _NUMBERS.keys().isdisjoint(clause.lower().split()):
            continue
        outer = at == 0 or at == len(clauses) - 1
        found += _clause(clause, bare=outer and len(clause) <= 160 and _BARE.match(clause) is not None)
    return tuple(found[:SIZES])


BRIEF: Final = 300
"""Characters of a text that may ask without a verb: "a song about tea"."""


def made(text: str) -> str:
    """The clauses of `text` that ask for something to be made, one a line; all of a short text."""
    if len(text) <= BRIEF:
        return text
    clauses = (clause[:CLAUSE] for clause in _SPLIT.split(text))
    return "\n".join(
        clause
        for clause in clauses
        if not _MAKE.isdisjoint(re.findall(r"[^\W\d_]+", clause.lower())) or _MAKE_SIGNS.search(clause)
    )


def _clause(clause: str, *, bare: bool) -> list[Size]:
    found: list[Size] = []
    if _MAKE_SIGNS.search(clause):
        for number, *marks in _SIGNS.findall(clause):
            kind = next(kind for kind, mark in zip(_KINDS, marks, strict=True) if mark)
            if int(number) > 1:
                found.append(Size(kind, min(MOST, int(number))))
    words = [word.lower() for word in _TOKEN.findall(clause)]
    asked, code, runs, at = bare or not _LAST.isdisjoint(clause.lower().split()), False, False, 0
    while at < len(words):
        word = words[at]
        asked = asked or word in _MAKE
        code = code or word in _CODE
        runs = runs or (code and word in _RUNS)
        count, after = _number(words, at)
        if not count:
            at += 1
            continue
        before = words[at - 1] if at else ""
        at = after
        if not asked:
            continue
        wide = 0
        if at + 1 < len(words) and words[at] in ("x", "×", "*", "by"):
            wide, after = _number(words, at + 1)
            at = after if wide else at
        size = _size(words[at : at + 3], before, count, wide, runs)
        if size is not None:
            found.append(size)
    return found


def _number(words: list[str], at: int) -> tuple[int, int]:
    """The count at this word (0: none), and the place behind it. "a hundred", "two hundred", "1,000"."""
    word = words[at]
    if word[0].isdigit():
        digits = word.rstrip(".,").replace(",", "")
        return (
            (min(MOST, int(digits)), at + 1)
            if digits.isascii() and digits.isdigit() and len(digits) < 10
            else (0, at + 1)
        )
    count = _NUMBERS.get(word, 0)
    at += 1
    while count and at < len(words) and words[at] in _NUMBERS:
        other = _NUMBERS[words[at]]
        count, at = (count * other if other in (12, 100, 1000) else count + other), at + 1
    return min(count, MOST), at


def _size(after: list[str], before: str, count: int, wide: int, runs: bool) -> Size | None:
    """What the number counts, by the words behind it and the one before."""
    if min(count, wide or count) < 2 or (before and before in "#$€£:/"):
        return None
    if after and after[0] in _TIMES:
        return Size("times", count) if not runs and before not in _MORE else None
    if before in _NOT_BEFORE:
        return None
    if not after:
        return Size("items", count) if before in ("next", "top", "another", "first") else None
    if after[0] in "$€£%:/" or after[0] in _MEASURES or (after[0][0].isdigit() and not wide):
        return None
    near = [word for word in after if word[0].isalpha()]
    if not near or (near[0] == "s" and 1000 < count < 2100) or (1900 <= count < 2100 and before in ("in", "the", "of")):
        return None  # the 1980s, the year
    if wide:
        # A picture's "1920x1080" counts nothing in the answer; a grid's does.
        grid = not _GRID.isdisjoint(near) or not _CELLS.isdisjoint(near)
        return Size("cells", min(MOST, count * wide), min(count, wide)) if grid and count * wide <= MOST else None
    if not _CHARACTERS.isdisjoint(near[:1]):
        return Size("characters", count)
    if not _CELLS.isdisjoint(near[:2]):
        return Size("cells", count)
    if not _LINES.isdisjoint(near):
        return Size("lines", count)
    return Size("items" if count >= FEW and _PARTS.isdisjoint(near) else "parts", count)


_GRID: Final = _words(
    """
    grid grids table matrix board map maze array field pattern square bitmap canvas picture image sprite tiles
    crossword checkerboard chessboard
    """
)
