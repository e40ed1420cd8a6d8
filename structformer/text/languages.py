"""Which language texts are in, when they do not say."""

import re
from collections.abc import Collection, Sequence
from copy import copy
from functools import cache
from typing import Any

_NAMES = """
    af Afrikaans, am Amharic, an Aragonese, ar Arabic, as Assamese, az Azerbaijani, ba Bashkir, be Belarusian, bg
    Bulgarian, bn Bengali, br Breton, bs Bosnian, ca Catalan, cs Czech, cy Welsh, da Danish, de German, el Greek, en
    English, eo Esperanto, es Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fo Faroese, fr French, fy
    Frisian, ga Irish, gd Gaelic, gl Galician, gu Gujarati, ha Hausa, he Hebrew, hi Hindi, hr Croatian, ht Haitian, hu
    Hungarian, hy Armenian, id Indonesian, ig Igbo, is Icelandic, it Italian, ja Japanese, jv Javanese, ka Georgian, kk
    Kazakh, km Khmer, kn Kannada, ko Korean, ku Kurdish, ky Kyrgyz, la Latin, lb Luxembourgish, lg Ganda, ln Lingala, lo
    Lao, lt Lithuanian, lv Latvian, mg Malagasy, mk Macedonian, ml Malayalam, mn Mongolian, mr Marathi, ms Malay, mt
    Maltese, my Burmese, ne Nepali, nl Dutch, no Norwegian, oc Occitan, om Oromo, or Odia, pa Punjabi, pl Polish, ps
    Pashto, pt Portuguese, qu Quechua, ro Romanian, ru Russian, rw Kinyarwanda, sa Sanskrit, si Sinhala, sk Slovak, sl
    Slovenian, sn Shona, so Somali, sq Albanian, sr Serbian, st Sotho, sv Swedish, sw Swahili, ta Tamil, te Telugu, tg
    Tajik, th Thai, tk Turkmen, tl Tagalog, tr Turkish, tt Tatar, ug Uyghur, uk Ukrainian, ur Urdu, uz Uzbek, vi
    Vietnamese, xh Xhosa, yi Yiddish, yo Yoruba, zh Chinese, zu Zulu"""
LANGUAGE_NAMES: dict[str, str] = dict(each.split() for each in _NAMES.split(","))

_CHARACTERS = 2000  # of each text
_FEWEST_CHARACTERS = 20
_SURE = 0.5  # of a language with near kin, as Arabic, hardly more can be had
_SURELY_ONE = 0.9  # of a few words
ENGLISH = "en"
# What else documents call the languages that something here depends on: codes of three letters, codes of old, written
# standards, and what belongs to a language that has one code for all.
_CALLED = """
    af afr, am amh, ar ara arb ary arz, az aze azj, be bel, bg bul, bn ben, br bre, bs bos, ca cat, cs ces cze, cy
    cym wel, da dan, de deu ger, el ell gre, en eng, eo epo, es spa, et est ekk, eu eus baq, fa fas per pes prs, fi
    fin, fr fra fre, ga gle, gl glg, gu guj, ha hau, he heb iw, hi hin, hr hrv, hu hun, hy hye arm, id ind in, is
    isl ice, it ita, ja jpn, jv jav jw, ka kat geo, kk kaz, km khm, kn kan, ko kor, ku kur, la lat, lo lao, lt lit,
    lv lav lvs, mg mlg, mk mkd mac, ml mal, mn mon khk, mr mar, ms msa may zsm, mt mlt, my mya bur, ne nep npi, nl
    nld dut, no nor nb nob nn nno, pa pan, pl pol, ps pus, pt por, ro ron rum mo mol, ru rus, si sin, sk slk slo, sl
    slv, so som, sq sqi alb, sr srp sh, st sot, sv swe, sw swa swh, ta tam, te tel, th tha, tl tgl, tr tur, uk ukr,
    ur urd, uz uzb uzn, vi vie, yi yid ji, yo yor, zh zho chi cmn yue wuu hak nan, zu zul"""
_CODES = {other: code for code, *others in map(str.split, _CALLED.split(",")) for other in others}
_NO_LANGUAGE = frozenset({"und", "mul", "mis", "zxx"})  # codes that say that there is none, or none is known
_CODE = re.compile(r"[a-z]{2,3}")
_TAG = re.compile(r"[a-z0-9]{1,8}(?:-[a-z0-9]{1,8})*", re.IGNORECASE)
# Those whose variants are written otherwise, so that readers of one may want it alone.
_VARIANTS = frozenset({"pt", "sr", "zh"})
_SCRIPT, _REGION = 4, 2  # letters of their codes


def language_of(text: str, among: Sequence[str] = (), *, surely: float = _SURE) -> str:
    """Return the language a text is surely in, "" if too short or unclear. among: the only ones possible."""
    sample = text[:_CHARACTERS]
    if len(sample.strip()) < _FEWEST_CHARACTERS:
        return ""
    language, probability = _identifier(tuple(among)).classify(sample)
    return declared_code(language) if probability >= surely else ""


def declared_code(declared: str | None) -> str:
    """The code of a declared language, of two letters if possible: "nb" is "no", "deu" is "de"; "" if it is none."""
    code = _tag(declared).partition("-")[0].lower()
    return _CODES.get(code, code) if _CODE.fullmatch(code) and code not in _NO_LANGUAGE else ""


def declared_variant(declared: str | None) -> str:
    """Return how readers name a variant: "zh-TW" of "zh_tw", "sr-Latn", "pt-BR"; of others the code alone."""
    code = declared_code(declared)
    if code not in _VARIANTS:
        return code
    parts = (
        part.title() if len(part) == _SCRIPT else part.upper() if len(part) == _REGION else part.lower()
        for part in _tag(declared).split("-")[1:]
    )
    return "-".join([code, *parts])


def _tag(declared: str | None) -> str:
    """Return what is declared, if it may be a language's tag, else ""."""
    tag = (declared or "").partition(".")[0].strip().replace("_", "-")  # "de_DE.UTF-8"
    return tag if _TAG.fullmatch(tag) else ""


def told_among(text: str, among: Collection[str] = (), *, surely: float = _SURELY_ONE) -> str:
    """Return the one of these languages, by code, that even a short text is surely in, else "". among: () for any."""
    shares: dict[str, float] = {}
    for language, share in _identifier(()).rank(text[:_CHARACTERS]):
        if (code := declared_code(language)) and (not among or code in among):
            shares[code] = shares.get(code, 0.0) + share
    best = max(shares, key=shares.__getitem__, default="")
    return best if best and shares[best] >= surely * sum(shares.values()) > 0 else ""


def known_languages(codes: Collection[str]) -> list[str]:
    """Return those of these languages that can be told from texts."""
    can_be_told = set(_identifier(()).nb_classes)
    return sorted(code for code in codes if code in can_be_told)


@cache
def _identifier(among: tuple[str, ...]) -> Any:
    if among:
        identifier = copy(_identifier(()))  # shares the model, which takes most of a second to read
        identifier.set_languages(list(among))
        return identifier
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def language_name(declared: str) -> str:
    """A language as people call it: "French" of "fr", "Portuguese (pt-BR)" of "pt-BR"; what is not known as it is."""
    code = declared_code(declared)
    name = LANGUAGE_NAMES.get(code, "")
    if not name:
        return declared
    return name if code == declared else f"{name} ({declared})"
