/** How to check a bundle: ten steps with standard tools. None of them needs Gate. */
export const bundleReadme = (): string => `Regulatory bundle: how to check it without Gate
================================================

You need: tar, sha256sum, sed, openssl 3, and the public key of whoever signs for this ledger as key.pem. Get the key from the operator,
not from whoever gave you this file. Or run all steps at once, with Node.js 20 and one file of Gate's sources that uses nothing else:

    node bin/verify-regulatory-bundle.mjs bundle.tar.gz --key key.pem

 1. Unpack.
        tar -xzf bundle.tar.gz
 2. The rows are the ones of the manifest. Compare with "ndjson_sha256" in manifest.json.
        sha256sum entries.ndjson
 3. Each row is what was hashed when it was written. A line of entries.ndjson is the row's text, its hash put in at the end. For row N:
        line=$(sed -n Np entries.ndjson)
        prev=$(printf '%s' "$line" | sed 's/^{"chain_version":6,"id":"[^"]*","timestamp":"[^"]*","seq":[0-9]*,"prev_hash":"\\([0-9a-f]*\\)".*/\\1/')
        printf '%s|%s}' "$prev" "\${line%,\\"entry_hash\\":*}" | sha256sum
    must give the entry_hash at the end of the line. The rows stand in one chain with those of other tenants: chain_links.ndjson holds, for
    every entry from seq_lo to seq_hi, its hash and that of the one before it. The first prev_hash is "prev_hash_at_window_start", each
    further one the entry_hash of the line above, and the last entry_hash is "entry_hash_at_window_end".
        sha256sum chain_links.ndjson
 4. technical_documentation.md, where there is one, is the one of the manifest.
        sha256sum technical_documentation.md
 5. "verified_chain" says what the ledger found when it walked its whole chain before it signed: how long the chain was, the hash of its head,
    how many rows were signed and how many of those signatures held. A "cryptographic_status" other than "verified" is no fault of the
    rows, it says what could not be verified. Where "nothing_signed" is true no row is signed, and "verified" vouches for none.
 6. The manifest is signed. Blank the signature, hash, verify:
        sed -e '/^  "signature": {$/,/^  },$/{s/^  },$/  "signature": null,/;t' -e 'd}' manifest.json > blanked.json
        openssl dgst -sha256 -binary blanked.json > digest.bin
        printf "$(tr -d '\\n' < manifest.sig | sed 's/../\\\\x&/g')" > signature.bin
        openssl pkeyutl -verify -pubin -inkey key.pem -rawin -in digest.bin -sigfile signature.bin
    (printf with \\x needs bash.) "key_id" and "signed_at" stand in the blanked part and are not signed.
 7. "parquet_pointers", where there are any, name files of the cold export. Fetch them and compare with "data_sha256".
 8. anchors.ndjson, where there is one: copies of the chain's root held by others. For a line with source rfc3161, write its proof (base64) to
    token.tsr; with the certificate of the time-stamping authority:
        openssl ts -verify -digest ANCHORED_ENTRY_HASH -in token.tsr -CAfile tsa-ca.pem
 9. compliance_register.json, where there is one, counts and samples rows. It says nothing about whether any law or control is met.
        sha256sum compliance_register.json
10. annex_iv_documentation.json, post_market_monitoring_plan.json and this file are the ones of the manifest.
        sha256sum annex_iv_documentation.json post_market_monitoring_plan.json README.txt
`;
