"""The sizes that a person asks for: "50 times", "60 seats", "a 40x40 grid", "for 14 days", "384-dimensional".

A number is a wish only where the clause asks for something to be made ("write", "list", "fill", in the languages people
write), or is only the name of a thing ("100 facts about tea"). It must count something in the answer: "line 12",
"1920x1080", "in 500 words" and "the last 30 days" do not. Everything is linear in the text and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from .numerals import HAN, HANGUL, MOST, NUMBERS, number, numeral, parted

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
    создайте выведи сгенерируй составь составьте дай перечисли нарисуй сделай اكتب اكتبي اكتبها
    اكتبه كرر كرري كررها كرره اطبع أعد اذكر
    skriv upprepa gentag gjenta viết lặp napiš zopakuj toista kirjoita tulis ulangi scrie repetă írd írj ismételd
    γράψε γράψτε επανάλαβε כתוב כתבי חזור напишіть повторіть створи andika rudia isulat ulitin escriu repeteix
    """
)
_LAST: Final = _words(
    """
    yaz yazın tekrarla listele oluştur लिखो लिखें लिखिए लिख दोहराओ दोहराएं दोहराएँ दोहराइए बनाओ बनाएं बनाइए गिनो बोलो
    بنویس بنویسید تکرار لکھو لکھیں دہراؤ লেখো লেখ লিখুন লিখো எழுது எழுதவும் రాయండి రాయి
    """
)
"""Verbs that stand at the end of their clause."""
_MAKE_SIGNS: Final = re.compile(
    r"写|寫|重复|重複|输出|輸出|列出|生成|打印|画|畫|制作|製作|创建|创作|抄|给我|給我|说|說|念|背|唱|書い|書け|書き|繰り返|出力|作っ|作成"
    r"|描い|挙げ|言っ|唱え|送っ|並べ|쓰|써|반복|출력|만들|적어|나열|그려|생성|말해|말하|적으|보여|เขียน|พิมพ์|ทำซ้ำ|พูด"
)
"""The same where words are not parted by blanks, or take endings."""
_CODE_SIGNS: Final = re.compile(
    r"程序|脚本|腳本|代码|程式|函数|函數|プログラム|スクリプト|関数|코드|함수|프로그램|스크립트|โปรแกรม|สคริปต์"
)
_TIMES: Final = _words(
    """
    times copies copy repetitions repeats reps rounds veces vezes fois mal volte раз раза разів рази keer maal razy
    kez kere مرة مرات مره gånger ganger gange lần krát krat kertaa kali ori φορές פעמים बार بار مرتبہ বার முறை సార్లు
    szer szor ször alkalommal vegades mara beses x
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
    line lines row rows líneas filas linhas lignes zeilen righe regels wierszy satır строк строки рядків rader
    řádků sorok γραμμές שורות سطر أسطر पंक्तियाँ पंक्तियां लाइन baris dòng
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
_SPLIT: Final = re.compile(r"[\n!?;।。！？；]|\.(?=\s|$)|:(?=\s)")
_TOKEN: Final = re.compile(
    r"\d[\d,.]*|(?:(?!\d)[^\W_]|(?!\d)[\u0300-\u036f\u064b-\u065f\u0900-\u0963\u0970-\u0e7f]|(?<=\w)['’](?=\w))+"
    r"|[x×*#$€£:/%]"
)
"""A number, a word (with the vowel signs of its script) or a sign."""
_COUNTERS: Final = (
    r"(?:(次|遍|回|번(?!째)|ครั้ง|รอบ)"
    r"|(行|个|個|条|條|項|项|篇|首|句|种|種|つ|本|件|개|줄|행|가지|天|日分|일|บรรทัด|ข้อ)|(字符|文字|글자|자))"
)
_SIGNS: Final = re.compile(rf"(?<!第)(\d{{1,6}})\s?{_COUNTERS}")
_HAN: Final = re.compile(rf"(?<!第)([{HAN}]{{1,8}}){_COUNTERS}")
_HANGUL: Final = re.compile(rf"({HANGUL})\s?{_COUNTERS}")
_COUNTED: Final = "\u2e80"
"""Words from here on are counters, which `_unspaced` has read."""
_KINDS: Final[tuple[Kind, ...]] = ("times", "items", "characters")
_NAMED: Final = re.compile(r"[A-Za-z]{1,20}[-_]?$|_$")
"""Stands before the digits of a name: r400, GPT-4, utf-8, x86_64."""
_CROSS: Final = ("x", "×")
_RANKED: Final = _words("top next first last another about with of and by times")
"""Words that a hyphen joins with a number that counts ("top-50"), or that people forget the blank behind."""


def sizes(text: str) -> tuple[Size, ...]:
    """The sizes that `text`, what a person wrote, asks for: the first 16."""
    found: list[Size] = []
    clauses = [clause[:CLAUSE] for clause in _SPLIT.split(text) if clause and not clause.isspace()]
    for at, clause in enumerate(clauses):
        if len(found) >= SIZES:
            break
        if (
            not any(map(str.isdigit, clause))
            and NUMBERS.keys().isdisjoint(_words_of(clause))
            and not _HAN.search(clause)
            and not _HANGUL.search(clause)
        ):
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
        clause for clause in clauses if not (_MAKE | _LAST).isdisjoint(_words_of(clause)) or _MAKE_SIGNS.search(clause)
    )


def _words_of(clause: str) -> list[str]:
    return [part for word in _TOKEN.findall(clause.lower()) for part in parted(word)]


def _unspaced(clause: str) -> Iterator[Size]:
    """The sizes of a clause in a script whose counters follow their number."""
    asked = _MAKE_SIGNS.search(clause)
    if asked is None:
        return
    code = _CODE_SIGNS.search(clause)
    for form in (_SIGNS, _HAN, _HANGUL):
        for found in form.finditer(clause):
            signs, *marks = found.groups()
            count = int(signs) if form is _SIGNS else numeral(signs)
            kind = next(kind for kind, mark in zip(_KINDS, marks, strict=True) if mark)
            if count > 1 and not (kind == "times" and code is not None):
                yield Size(kind, min(MOST, count))


def _clause(clause: str, *, bare: bool) -> list[Size]:
    found = list(_unspaced(clause))
    words = _read(clause)
    asked, code, runs, at = bare or not _LAST.isdisjoint(words), False, False, 0
    while at < len(words):
        word = words[at]
        asked = asked or word in _MAKE
        code = code or word in _CODE
        runs = runs or (code and word in _RUNS)
        count, after = number(words, at)
        if not count:
            at += 1
            continue
        before = words[at - 1] if at else ""
        at = after
        if not asked or (at < len(words) and words[at][0] > _COUNTED):
            continue
        wide = 0
        if at + 1 < len(words) and words[at] in ("x", "×", "*", "by"):
            wide, after = number(words, at + 1)
            at = after if wide else at
        if before in _CROSS and not wide:
            size = Size("times", count) if _crossed(count, words[at : at + 1]) else None
        else:
            size = _size(words[at : at + 3], before, count, wide, runs)
        if size is not None:
            found.append(size)
    return found


def _read(clause: str) -> list[str]:
    """The words, numbers and signs of a clause. A number that is part of a name or of a measure (r400, GPT-4, utf-8,
    1080p) is one word with it, and counts nothing."""
    words: list[str] = []
    end = -1
    for found in _TOKEN.finditer(clause):
        word, start = found[0].lower(), found.start()
        named = bool(words) and _named(words, word, clause, start, glued=start == end)
        if named:
            words[-1] += "-" + word
        else:
            words += parted(word)
        end = found.end()
    return words


def _named(words: list[str], word: str, clause: str, start: int, *, glued: bool) -> bool:
    last = words[-1]
    if word[0].isdigit():
        if clause[start - 1] == "_":
            return True
        if last in _CROSS or last in _RANKED or not (last[0].isalpha() and last[-1] < "\u024f"):
            return False
        return _NAMED.search(clause, max(0, start - 22), start) is not None
    if not (glued and last[0].isdigit() and word[0].isalpha() and word[0] < "\u024f"):
        return False
    return word not in _TIMES and word not in _CELLS and word not in _LINES


def _crossed(count: int, after: list[str]) -> bool:
    """Is "x50" a count ("hello x50")? Where more of the sentence follows ("x86 assembly"), it is a name."""
    return count not in (32, 64, 86) and (not after or not after[0][0].isalpha() or after[0] in _JOINS)


_JOINS: Final = _words("please and then in with now for on each per")
_FOLD: Final = _words("more less growth speed speedup zoom magnification engineer developer")
"""What "10x" is said of where it multiplies, not counts ("10x faster" too)."""


def _size(after: list[str], before: str, count: int, wide: int, runs: bool) -> Size | None:
    """What the number counts, by the words behind it and the one before."""
    if min(count, wide or count) < 2 or (before and before in "#$€£:/"):
        return None
    if len(after) > 1 and after[0] == "x" and (after[1].endswith("er") or after[1] in _FOLD):
        return None
    if after[:1] == ["de"]:
        after = after[1:]  # "50 de ori"
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
