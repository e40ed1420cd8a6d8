"""What languages are called in English, by their codes of two letters."""

from __future__ import annotations

from structformer.text.languages import declared_code

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


def language_name(declared: str) -> str:
    """A language as people call it: "French" of "fr", "Portuguese (pt-BR)" of "pt-BR"; what is not known as it is."""
    code = declared_code(declared)
    name = LANGUAGE_NAMES.get(code, "")
    if not name:
        return declared
    return name if code == declared else f"{name} ({declared})"
