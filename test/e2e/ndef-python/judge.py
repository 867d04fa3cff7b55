"""Speaks NDEF by a public library: one JSON value a line in, one out.

{"decode": hex}      ->  the records: type, name, data (hex), and text or uri where it has one
{"encode": records}  ->  hex of their message; a record has text (with language and encoding), uri, poster, or type
"""
import json
import sys

import ndef


def told(record):
    value = {"type": record.type, "name": record.name, "data": bytes(record.data).hex()}
    if isinstance(record, ndef.TextRecord):
        value.update(text=record.text, language=record.language)
    if isinstance(record, ndef.UriRecord):
        value.update(uri=record.iri)
    return value


def made(asked):
    if "text" in asked:
        record = ndef.TextRecord(asked["text"], asked["language"], asked["encoding"])
    elif "poster" in asked:
        record = ndef.SmartposterRecord(asked["poster"])
        if asked["title"]:
            record.set_title(asked["title"], "en")
    elif "uri" in asked:
        record = ndef.UriRecord(asked["uri"])
    else:
        record = ndef.Record(asked["type"], data=bytes.fromhex(asked["data"]))
    record.name = asked["name"]
    return record


for line in sys.stdin:
    asked = json.loads(line)
    if "decode" in asked:
        answer = [told(record) for record in ndef.message_decoder(bytes.fromhex(asked["decode"]))]
    else:
        answer = b"".join(ndef.message_encoder([made(record) for record in asked["encode"]])).hex()
    print(json.dumps(answer))
