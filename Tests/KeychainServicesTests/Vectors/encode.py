#!/usr/bin/env python3
"""Writes the vector files of this folder from Wycheproof's. Usage and origin: README.md."""

import base64
import json
import pathlib
import sys

HASHES = {"SHA-1": "SHA1", "SHA-224": "SHA224", "SHA-256": "SHA256", "SHA-384": "SHA384",
          "SHA-512": "SHA512"}
# Folders of swift-crypto's repository below Tests.
CRYPTO, EXTRAS = "Test Vectors", "CryptoExtrasVectors"
# What a test has, in this order.
SIGNATURE = ["msg", "sig"]
AGREEMENT = ["public", "private", "shared"]


def packed(value):
    """Base64 of what Wycheproof gives in hexadecimal: the folder stays below 3 MB."""
    return base64.b64encode(bytes.fromhex(value)).decode()


def pem(text):
    return "".join(text.strip().splitlines()[1:-1])


def ecdsa(group):
    key = group["publicKey"]
    return {"hash": HASHES[group["sha"]], "key": packed(key["uncompressed"])}


def eddsa(group):
    return {"key": packed(group["publicKey"]["pk"])}


def rsa(group):
    return {"hash": HASHES[group["sha"]], "bits": group["keysize"], "key": packed(group["keyAsn"])}


def pss(group):
    if group["mgfSha"] != group["sha"]:
        return None  # No identifier names two hashes.
    return rsa(group) | {"salt": group["sLen"]}


def oaep(group):
    if group["mgfSha"] != group["sha"]:
        return None  # No identifier names two hashes.
    return {"hash": HASHES[group["sha"]], "bits": group["keysize"],
            "key": pem(group["privateKeyPem"])}


def agreement(group):
    return {}


# File, its folder, what a group has in common, names of a test's values.
FILES = [
    *[(f"ecdsa_{curve}_{sha}{form}_test", CRYPTO, ecdsa, SIGNATURE)
      for curve, sha in [("secp256r1", "sha256"), ("secp256r1", "sha512"),
                         ("secp384r1", "sha384"), ("secp384r1", "sha512"),
                         ("secp521r1", "sha512")]
      for form in ["", "_p1363"]],
    ("ed25519_test", CRYPTO, eddsa, SIGNATURE),
    *[(f"rsa_signature_{name}test", EXTRAS, rsa, SIGNATURE)
      for name in ["2048_sha256_", "2048_sha512_", "3072_sha256_", "3072_sha512_",
                   "4096_sha512_", ""]],
    *[(f"rsa_pss_{name}_test", EXTRAS, pss, SIGNATURE)
      for name in ["2048_sha1_mgf1_20", "2048_sha256_mgf1_32", "3072_sha256_mgf1_32",
                   "4096_sha256_mgf1_32", "misc"]],
    *[(f"rsa_oaep_{name}_test", EXTRAS, oaep, ["ct", "label", "msg"])
      for name in ["2048_sha1_mgf1sha1", "2048_sha256_mgf1sha256", "misc"]],
    *[(f"ecdh_{curve}_ecpoint_test", CRYPTO, agreement, AGREEMENT)
      for curve in ["secp256r1", "secp384r1", "secp521r1"]],
    ("x25519_test", CRYPTO, agreement, AGREEMENT),
]


def encode(name, folder, common, fields):
    file = json.loads((folder / f"{name}.json").read_text())
    lines, count, previous = [], 0, {}
    for group in file["testGroups"]:
        settings = common(group)
        if settings is None:
            continue
        lines += [f"{key} = {value}" for key, value in settings.items()
                  if previous.get(key) != value]
        previous = settings
        for test in group["tests"]:
            count += 1
            flags = "+".join(test["flags"]) or "-"
            values = [packed(test[name]) or "-" for name in fields]
            lines.append(" ".join([str(test["tcId"]), test["result"], flags, *values]))
    head = [
        f"# {name}.json of Wycheproof, generator {file['generatorVersion']}: "
        f"{count} of {file['numberOfTests']} tests",
        f"tests = {count}",
    ]
    return "\n".join(head + lines) + "\n"


def main():
    repository = pathlib.Path(sys.argv[1])
    here = pathlib.Path(__file__).parent
    for name, folder, common, fields in FILES:
        text = encode(name, repository / "Tests" / folder, common, fields)
        (here / f"{name.removesuffix('_test')}.txt").write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: encode.py FOLDER-OF-SWIFT-CRYPTO")
    main()
