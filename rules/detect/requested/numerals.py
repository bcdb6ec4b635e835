"""Numbers as people write them: digits of any script, number words, Chinese and Korean numerals."""

from __future__ import annotations

import re
from typing import Final

MOST: Final = 100_000
"""The largest count. A larger one is read as this one, because no answer is that long."""
NUMBERS: Final = {
    word: number
    for number, words in {
        2: "two zwei deux dos due dois два две två dwa", 3: "three drei trois tres três tre три drie trzy",
        4: "four vier quatre cuatro quatro quattro четыре fyra", 5: "five fünf cinq cinco cinque пять vijf pięć beş",
        6: "six sechs seis sei шесть zes sześć altı",
        7: "seven sieben sept siete sete sette семь zeven siedem sju yedi",
        8: "eight acht huit ocho oito otto восемь osiem åtta sekiz",
        9: "nine neun neuf nueve nove девять negen nio dokuz",
        10: "ten zehn dix diez dez dieci десять tien dziesięć deset kymmenen zece tíz δέκα दस عشر עשר десять sepuluh",
        11: "eleven onze undici", 12: "twelve dozen dozens zwölf dutzend douze doce docena dúzia dodici дюжину",
        13: "thirteen dreizehn treize trece", 14: "fourteen vierzehn quatorze catorce",
        15: "fifteen fünfzehn quinze quince", 16: "sixteen sechzehn seize", 17: "seventeen siebzehn",
        18: "eighteen achtzehn", 19: "nineteen neunzehn",
        20: "twenty zwanzig vingt veinte vinte venti двадцать twintig dwadzieścia tjugo tyve yirmi dvacet "
        "kaksikymmentä douăzeci húsz είκοσι बीस عشرون عشرين עשרים двадцять",
        30: "thirty dreißig trente treinta trinta trenta тридцать dertig trzydzieści trettio tredive otuz třicet तीस "
        "ثلاثون ثلاثين שלושים тридцять",
        40: "forty vierzig quarante cuarenta quarenta quaranta сорок veertig czterdzieści fyrtio kırk čtyřicet चालीस "
        "أربعون أربعين ארבעים",
        50: "fifty fünfzig cinquante cincuenta cinquenta cinquanta пятьдесят vijftig pięćdziesiąt femtio halvtreds "
        "femti elli padesát viisikymmentä cincizeci ötven πενήντα पचास خمسون خمسين חמישים پنجاه п'ятдесят",
        60: "sixty sechzig soixante sesenta sessenta sessanta шестьдесят zestig sześćdziesiąt sextio altmış साठ",
        70: "seventy siebzig setenta settanta семьдесят zeventig",
        80: "eighty achtzig ochenta oitenta восемьдесят tachtig",
        90: "ninety neunzig noventa novanta девяносто negentig",
        100: "hundred hundreds hundert einhundert cent cien ciento cem cento сто сотню honderd hundra hundrede hundre "
        "sto yüz sata sută száz εκατό सौ مئة مائة מאה صد seratus",
        1000: "thousand thousands tausend eintausend mille mil тысячу тысяча duizend tysiąc tusen tisíc हज़ार हजार "
        "ألف אלף هزار",
    }.items()
    for word in words.split()
}  # fmt: skip
"""Number words of some thirty languages, as they stand before what they count."""
_AND: Final = frozenset(["and", "und", "et", "y", "e", "и", "en", "og", "och"])
"""Joins the parts of a number: "a hundred and fifty"."""
HAN: Final = "零〇一二两兩三四五六七八九十百千万萬"
"""The signs of a Chinese or Japanese numeral."""
HANGUL: Final = (
    "(?:[이삼사오육칠팔구]?천)?(?:[이삼사오육칠팔구]?백)?"
    "(?:[이삼사오육칠팔구]?십|열|스물|스무|서른|마흔|쉰|예순|일흔|여든|아흔)?"
)
"""A Korean numeral, Chinese (오백) or native (쉰); it may be empty."""
_DIGITS: Final = {
    "一": 1, "二": 2, "两": 2, "兩": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9,
    "이": 2, "삼": 3, "사": 4, "오": 5, "육": 6, "칠": 7, "팔": 8, "구": 9,
}  # fmt: skip
_POWERS: Final = {"十": 10, "百": 100, "千": 1000, "십": 10, "백": 100, "천": 1000}
_TENS: Final = {
    "열": 10, "스물": 20, "스무": 20, "서른": 30, "마흔": 40, "쉰": 50, "예순": 60, "일흔": 70, "여든": 80, "아흔": 90,
}  # fmt: skip
_THOUSANDS: Final = re.compile(r"[.,](?=\d{3}(?!\d))")
_FOLD: Final = ("krát", "krat", "maal", "mal", "szer", "szor", "ször")
"""Ends of words that mean "times"."""


def numeral(signs: str) -> int:
    """The value of a Chinese or Korean numeral: 五十, 一百二十, 오백, 쉰."""
    total = section = digit = 0
    for tens, value in _TENS.items():
        if signs.endswith(tens):
            signs, total = signs[: -len(tens)], value
            break
    for sign in signs:
        if sign in "万萬":
            total, section, digit = (total + section + digit or 1) * 10_000, 0, 0
        elif sign in _POWERS:
            section, digit = section + (digit or 1) * _POWERS[sign], 0
        else:
            digit = _DIGITS.get(sign, 0)
    return total + section + digit


def parted(word: str) -> list[str]:
    """ "padesátkrát", "fünfzigmal", "ötvenszer" in two words."""
    for suffix in _FOLD:
        if word.endswith(suffix) and word[: -len(suffix)] in NUMBERS:
            return [word[: -len(suffix)], suffix]
    return [word]


def number(words: list[str], at: int) -> tuple[int, int]:
    """The count at this word (0: none), and the place behind it. "a hundred and fifty", "half a dozen", "1,000"."""
    word = words[at]
    if word[0].isdigit():
        digits = _THOUSANDS.sub("", word.rstrip(".,"))
        return (min(MOST, int(digits)), at + 1) if digits.isdecimal() and len(digits) < 10 else (0, at + 1)
    half = word == "half" and at + 2 < len(words) and words[at + 1] in ("a", "of")
    at += 2 if half else 0
    count = NUMBERS.get(words[at], 0)
    at += 1
    while count and at < len(words):
        joined = words[at] in _AND and at + 1 < len(words) and count >= 20 and words[at + 1] in NUMBERS
        other = NUMBERS.get(words[at + joined], 0)
        if not other or (joined and other >= count):
            break
        count, at = (count * other if other in (12, 100, 1000) and other > 1 else count + other), at + 1 + joined
    return min(count // 2 if half else count, MOST), at
