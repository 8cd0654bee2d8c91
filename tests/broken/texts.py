"""Encodings and line ends: what editors, mail clients and cloud drives do to a text."""

import json
import re

from .handed import Handed, found, repaired


def with_umlauts(handed: Handed) -> None:
    cell = handed.cell(f"{handed.names[2]}-code")
    cell["source"] = "# größer als zuvor: é, ñ, ß, ü\n" + cell["source"]


# --- encodings


@found("encoding", "encoding")
def a_byte_order_mark(handed: Handed):
    handed.write(b"\xef\xbb\xbf" + handed.text.encode())


@found("encoding", "encoding")
def utf_16_with_a_byte_order_mark(handed: Handed):
    handed.write(handed.text.encode("utf-16"))


@found("encoding", "encoding")
def utf_16_of_the_other_order_without_one(handed: Handed):
    handed.write(handed.text.encode("utf-16-be"))


@found("encoding", "encoding")
def utf_32(handed: Handed):
    handed.write(handed.text.encode("utf-32"))


@found("encoding", "encoding", "locked")
def latin_1_with_every_other_character_lost(handed: Handed):
    with_umlauts(handed)
    handed.write(handed.text.encode("latin-1", "replace"))


@found("encoding", "encoding")
def one_damaged_byte_in_a_comment(handed: Handed):
    with_umlauts(handed)
    handed.write(handed.text.encode().replace("größer".encode(), b"gr\xc3er"))


@found("encoding")
def every_character_escaped(handed: Handed):
    with_umlauts(handed)
    handed.write(json.dumps(handed.data, ensure_ascii=True))


@repaired("encoding", "encoding")
def half_a_character_in_a_comment(handed: Handed):
    handed.cell(f"{handed.names[2]}-code")["source"] += "\n# \ud83d"


@found("encoding", "encoding")
def half_a_character_escaped(handed: Handed):
    handed.cell(f"{handed.names[2]}-code")["source"] += "\n# \ud83d"
    handed.write(json.dumps(handed.data))


# --- zero bytes


@found("zero bytes", "encoding")
def padded_with_zero_bytes(handed: Handed):
    handed.write(handed.text.encode() + b"\0" * 4096)


@found("zero bytes", "encoding")
def a_block_of_zero_bytes_in_front(handed: Handed):
    handed.write(b"\0" * 512 + handed.text.encode())


@found("zero bytes", "encoding")
def zero_bytes_in_a_source(handed: Handed):
    handed.write(handed.text.encode().replace(b"    return", b"    re\0turn"))


# --- line ends


def every_source(handed: Handed, change) -> None:
    for cell in handed.cells:
        cell["source"] = change(cell["source"])


@repaired("line ends", "line-ends")
def windows_line_ends_in_every_source(handed: Handed):
    every_source(handed, lambda source: source.replace("\n", "\r\n"))


@repaired("line ends", "line-ends")
def old_macintosh_line_ends_in_every_source(handed: Handed):
    every_source(handed, lambda source: source.replace("\n", "\r"))


@repaired("line ends", "line-ends")
def windows_line_ends_doubled_by_a_transfer(handed: Handed):
    every_source(handed, lambda source: source.replace("\n", "\r\r\n"))


@repaired("line ends", "line-ends")
def lists_of_lines_without_line_ends(handed: Handed):
    every_source(handed, lambda source: source.split("\n"))


@repaired("line ends")
def lists_of_lines(handed: Handed):
    every_source(handed, lambda source: source.splitlines(keepends=True))


@found("line ends")
def windows_line_ends_in_the_file(handed: Handed):
    handed.write(handed.text.replace("\n", "\r\n"))


@found("line ends")
def old_macintosh_line_ends_in_the_file(handed: Handed):
    handed.write(handed.text.replace("\n", "\r"))


@found("line ends")
def line_ends_in_a_json_text(handed: Handed):
    """No valid JSON, but what it says is plain."""
    handed.write(re.sub(r"(?<!\\)\\n", "\n", handed.text))


@repaired("line ends")
def blanks_at_the_ends_of_all_lines(handed: Handed):
    every_source(handed, lambda source: source.replace("\n", "  \n") + "\n\n")


# --- odd blanks


def indented_with(handed: Handed, name: str, blank: str) -> None:
    cell = handed.cell(name)
    lines = cell["source"].split("\n")
    cell["source"] = "\n".join(blank * (len(line) - len(line.lstrip(" "))) + line.lstrip(" ") for line in lines)


@repaired("odd blanks", "characters")
def blanks_that_do_not_break_as_indents(handed: Handed):
    indented_with(handed, f"{handed.names[2]}-code", "\u00a0")


@repaired("odd blanks", "characters")
def wide_blanks_as_indents_of_the_helper(handed: Handed):
    indented_with(handed, "my-helper", "\u2003")


@repaired("odd blanks", "characters")
def ordinary_and_odd_blanks_mixed(handed: Handed):
    name = f"{handed.names[3]}-code"
    cell = handed.cell(name)
    cell["source"] = cell["source"].replace("\n    ", "\n \u00a0 \u00a0")
