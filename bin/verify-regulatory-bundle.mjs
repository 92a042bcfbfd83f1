#!/usr/bin/env node
/**
 * Checks a regulatory bundle of Gate, offline, with nothing of Gate: Node's own modules only, one file to read and to copy.
 *
 *   node verify-regulatory-bundle.mjs <bundle.tar.gz> --key <public key, PEM>
 *
 * The public key must come from elsewhere than the bundle. Without it everything but the signature is checked, and the answer is not
 * "the bundle holds". Exit code: 0 the bundle holds, 2 it does not, 1 it cannot be read.
 */
import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto';
import { lstatSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';

const FIELDS = [
  ['chain_version', 'id', 'timestamp', 'seq', 'prev_hash', 'agent_id', 'method', 'intent_category', 'authorized'],
  ['reasoning', 'policy_decision', 'correlation_id', 'source', 'signal', 'approver_assertion', 'agent_spiffe'],
  ['signature', 'key_id', 'event_kind', 'tenant', 'agent_name', 'actor_sub', 'actor_idp', 'payload_sha256'],
  ['agent_kind', 'cost_micros', 'brain_evidence_sha256', 'brain_scores', 'tool_params_sha256'],
  ['credential_fingerprint', 'upstream_id', 'tool_name', 'state_namespace'],
].flat();
const ALWAYS = ['manifest.json', 'manifest.sig', 'entries.ndjson', 'chain_links.ndjson', 'README.txt'];
/** Manifest key of each further file. */
const OPTIONAL = {
  technical_documentation: 'technical_documentation.md',
  compliance_register: 'compliance_register.json',
  anchors: 'anchors.ndjson',
  annex_iv: 'annex_iv_documentation.json',
  post_market_monitoring_plan: 'post_market_monitoring_plan.json',
};
const HASH_SUFFIX = /,"entry_hash":"([0-9a-f]{64})"\}$/;

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const fail = (words) => {
  throw new Error(words);
};
const ensure = (holds, words) => {
  if (!holds) fail(words);
};

/** The files of a ustar archive by name. Throws on anything but plain files, each once, each header whole. */
function untar(bytes) {
  const files = new Map();
  const text = (from, length) => bytes.toString('latin1', from, from + length).replace(/\0.*$/s, '');
  let at = 0;
  while (at + 512 <= bytes.length && bytes[at] !== 0) {
    const header = Buffer.from(bytes.subarray(at, at + 512));
    const sum = Number.parseInt(text(at + 148, 8), 8);
    header.fill(0x20, 148, 156);
    ensure(header.reduce((total, byte) => total + byte, 0) === sum, `the archive is damaged at byte ${at}`);
    const name = text(at, 100);
    const size = Number.parseInt(text(at + 124, 12), 8);
    const type = text(at + 156, 1);
    ensure(type === '0' || type === '', `${name} is no plain file`);
    ensure(/^[A-Za-z0-9_.]+$/.test(name) && !files.has(name), `the archive holds ${name} twice or outside its place`);
    ensure(at + 512 + size <= bytes.length, `${name} is cut off`);
    files.set(name, bytes.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  ensure(bytes.length - at >= 1024 && bytes.subarray(at).every((byte) => byte === 0), 'the archive has no proper end');
  return files;
}

/** Each line of a file in which every line ends with a newline. */
function* lines(bytes, name) {
  let number = 0;
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(10, from);
    number += 1;
    ensure(end >= 0, `${name}: line ${number} does not end`);
    yield [bytes.toString('utf8', from, end), number];
    from = end + 1;
  }
}

/**
 * @param {Uint8Array} archive the bytes of the bundle
 * @param {string | null} publicKeyPem the key of whoever signs for the ledger, from elsewhere than the bundle
 * @returns {{ valid: boolean, checks: { what: string, holds: boolean, detail: string }[], notes: string[] }}
 */
export function verifyBundle(archive, publicKeyPem) {
  const checks = [];
  const notes = [];
  const check = (what, look) => {
    try {
      const [detail, result] = look();
      if (detail !== null) checks.push({ what, holds: true, detail });
      return result;
    } catch (error) {
      checks.push({ what, holds: false, detail: error instanceof Error ? error.message : String(error) });
      throw checks;
    }
  };
  try {
    verifyParts(archive, publicKeyPem, check, notes);
  } catch (error) {
    if (error !== checks) throw error;
  }
  return { valid: checks.every(({ holds }) => holds) && publicKeyPem !== null, checks, notes };
}

function verifyParts(archive, publicKeyPem, check, notes) {
  const files = check('archive', () => {
    const found = untar(gunzipSync(archive));
    for (const name of ALWAYS) ensure(found.has(name), `${name} is missing`);
    return [`${found.size} files`, found];
  });
  const manifest = check('manifest', () => {
    const bytes = files.get('manifest.json');
    const read = JSON.parse(bytes.toString('utf8'));
    ensure(read.schema_version === '8', `schema_version ${read.schema_version} is not known here`);
    ensure(JSON.stringify(read, null, 2) === bytes.toString('utf8'), 'manifest.json is not written in its one form');
    const named = Object.keys(OPTIONAL).filter((key) => key in read);
    const expected = new Set([...ALWAYS, ...named.map((key) => OPTIONAL[key])]);
    for (const name of files.keys()) ensure(expected.has(name), `${name} is not named by the manifest`);
    return [`tenant ${read.tenant}, ${read.window.from} to ${read.window.to}, ${read.row_count} rows`, read];
  });
  check('signature', () => {
    ensure(manifest.signature !== null, 'the manifest is not signed');
    const { algorithm, digest_alg, sidecar, key_id, signed_at } = manifest.signature;
    ensure(
      algorithm === 'ed25519' && digest_alg === 'sha256' && sidecar === 'manifest.sig',
      'another kind of signature',
    );
    const signature = files.get('manifest.sig').toString('latin1');
    ensure(/^[0-9a-f]{128}\n$/.test(signature), 'manifest.sig is not 128 hexadecimal digits and a newline');
    const digest = createHash('sha256')
      .update(JSON.stringify({ ...manifest, signature: null }, null, 2))
      .digest();
    if (publicKeyPem === null) {
      notes.push(
        `the signature by ${key_id} was not verified: no public key was given, and one from the bundle would prove nothing`,
      );
      return [null];
    }
    const key = createPublicKey(publicKeyPem);
    ensure(key.asymmetricKeyType === 'ed25519', 'the public key is not Ed25519');
    ensure(verifySignature(null, digest, key, Buffer.from(signature.trim(), 'hex')), 'it is not that of this manifest');
    notes.push('signed_at and key_id stand beside the signature and are not covered by it');
    return [`by ${key_id} at ${signed_at}`];
  });
  const links = check('chain_links.ndjson', () => readLinks(files.get('chain_links.ndjson'), manifest));
  check('entries.ndjson', () => readEntries(files.get('entries.ndjson'), manifest, links));
  check('verified_chain', () => {
    const { contract, commitment, signed_rows, nothing_signed, verified_signed_rows, cryptographic_status } =
      manifest.verified_chain;
    ensure(contract === 'gate.regulatory-bundle-signing/v1', `contract ${contract} is not known here`);
    ensure(commitment.contract === 'gate.verified-chain/v1', `commitment ${commitment.contract} is not known here`);
    ensure(
      nothing_signed === undefined || nothing_signed === (signed_rows === 0),
      'signed_rows and nothing_signed contradict each other',
    );
    ensure(verified_signed_rows <= signed_rows, 'more rows were verified than were signed');
    ensure(
      cryptographic_status !== 'verified' || verified_signed_rows === signed_rows,
      'not every signed row was verified',
    );
    ensure(
      manifest.seq_hi === null || manifest.seq_hi <= commitment.length,
      'the rows reach beyond the chain that was walked',
    );
    const head = links.get(commitment.length);
    ensure(!head || head.entry_hash === commitment.head_hash, 'the head of the chain is another');
    return [
      `${commitment.length} entries, head ${commitment.head_hash}; ${signed_rows === 0 ? 'no row is signed' : `signed rows: ${verified_signed_rows} of ${signed_rows} verified`} (${cryptographic_status})`,
    ];
  });
  check('README.txt', () => {
    committed(files.get('README.txt'), manifest.readme, 'README.txt');
    return [`${manifest.readme.byte_size} bytes`];
  });
  for (const [key, name] of Object.entries(OPTIONAL)) {
    if (!(key in manifest)) continue;
    check(name, () => {
      committed(files.get(name) ?? fail('it is missing'), manifest[key], name);
      if (key === 'anchors') return [readAnchors(files.get(name), manifest.anchors, links, notes)];
      if (name.endsWith('.json')) JSON.parse(files.get(name).toString('utf8'));
      return [`${manifest[key].byte_size} bytes, sha256 ${manifest[key].sha256}`];
    });
  }
  if ('vacuumed' in manifest)
    notes.push(
      `${manifest.vacuumed.row_count} rows of the window are not here: the ledger keeps entries from ${manifest.vacuumed.kept_from_seq} on`,
    );
  if ('parquet_pointers' in manifest && manifest.parquet_pointers.length > 0)
    notes.push(
      `${manifest.parquet_pointers.length} Parquet files are named and not in the bundle: compare their data_sha256`,
    );
}

function committed(bytes, { filename, sha256: digest, byte_size }, name) {
  ensure(filename === name, `the manifest calls it ${filename}`);
  ensure(bytes.length === byte_size, `${bytes.length} bytes, the manifest says ${byte_size}`);
  ensure(sha256(bytes) === digest, 'its SHA-256 is not that of the manifest');
}

/** Every entry between the first and the last row, without content: each points to the one before it. */
function readLinks(bytes, manifest) {
  committed(bytes, manifest.chain_links, 'chain_links.ndjson');
  const links = new Map();
  const { prev_hash_at_window_start: start, entry_hash_at_window_end: end } = manifest.chain_state;
  let seq = manifest.seq_lo;
  let previous = start;
  for (const [line, number] of lines(bytes, 'chain_links.ndjson')) {
    const link = JSON.parse(line);
    ensure(Object.keys(link).join() === 'seq,prev_hash,entry_hash', `line ${number} is no link`);
    ensure(link.seq === seq, `line ${number} is entry ${link.seq}, not ${seq}`);
    ensure(link.prev_hash === previous, `entry ${seq} does not point to the one before it`);
    links.set(seq, link);
    previous = link.entry_hash;
    seq += 1;
  }
  if (manifest.seq_lo === null) {
    ensure(links.size === 0 && start === null && end === null, 'a window without rows has no links');
    return ['no rows, no links', links];
  }
  ensure(seq === manifest.seq_hi + 1, `the links end with ${seq - 1}, not with ${manifest.seq_hi}`);
  ensure(previous === end, 'the last link is not entry_hash_at_window_end');
  ensure(links.size === manifest.chain_links.count, 'there are more or fewer links than the manifest says');
  return [`${links.size} links from ${manifest.seq_lo} to ${manifest.seq_hi}`, links];
}

/** Each line is an entry's canonical JSON with its hash at the end; the hash is computed anew from the very text. */
function readEntries(bytes, manifest, links) {
  ensure(sha256(bytes) === manifest.ndjson_sha256, 'its SHA-256 is not that of the manifest');
  let count = 0;
  let last = 0;
  for (const [line, number] of lines(bytes, 'entries.ndjson')) {
    const hash = HASH_SUFFIX.exec(line)?.[1] ?? fail(`line ${number} has no entry_hash at its end`);
    const canonical = line.replace(HASH_SUFFIX, '}');
    const row = JSON.parse(canonical);
    ensure(Object.keys(row).join() === FIELDS.join(), `line ${number} has not the 33 fields in their order`);
    ensure(row.chain_version === 6, `line ${number}: chain version ${row.chain_version} is not known here`);
    ensure(sha256(`${row.prev_hash}|${canonical}`) === hash, `entry ${row.seq} does not hash to its entry_hash`);
    const link = links.get(row.seq);
    ensure(
      link?.entry_hash === hash && link.prev_hash === row.prev_hash,
      `entry ${row.seq} is not the one of the chain`,
    );
    ensure(row.seq > last, `entry ${row.seq} is out of order`);
    ensure(row.tenant === manifest.tenant, `entry ${row.seq} is of another tenant`);
    const { from, to } = manifest.window;
    ensure(row.timestamp >= from && row.timestamp < to, `entry ${row.seq} is outside the window`);
    if (count === 0) ensure(row.seq === manifest.seq_lo, `the first entry is ${row.seq}, not ${manifest.seq_lo}`);
    last = row.seq;
    count += 1;
  }
  ensure(count === manifest.row_count, `${count} rows, the manifest says ${manifest.row_count}`);
  ensure(
    count === 0 ? manifest.seq_hi === null : last === manifest.seq_hi,
    `the last entry is ${last}, not ${manifest.seq_hi}`,
  );
  return [`${count} rows, each hashed anew`];
}

/** Anchors name an entry's hash; a time-stamp token must hold that very hash. Whose token it is, `openssl ts -verify` says. */
function readAnchors(bytes, { count }, links, notes) {
  let found = 0;
  for (const [line, number] of lines(bytes, 'anchors.ndjson')) {
    const anchor = JSON.parse(line);
    const proof = Buffer.from(anchor.proof ?? '', 'base64');
    ensure(sha256(proof) === anchor.proof_sha256, `anchor ${number}: the proof is another`);
    const link = links.get(anchor.anchored_seq);
    ensure(!link || link.entry_hash === anchor.anchored_entry_hash, `anchor ${number} is of another chain`);
    if (anchor.source === 'rfc3161')
      ensure(
        proof.includes(Buffer.from(anchor.anchored_entry_hash, 'hex')),
        `anchor ${number}: the token is of another hash`,
      );
    found += 1;
  }
  ensure(found === count, `${found} anchors, the manifest says ${count}`);
  notes.push('whose time stamps the anchors are was not checked: use openssl ts -verify (README.txt, step 8)');
  return `${found} anchors`;
}

function main([file, ...options]) {
  if (!file) {
    console.error('usage: verify-regulatory-bundle.mjs <bundle.tar.gz> --key <public key, PEM>');
    return 1;
  }
  const keyFile = options[0] === '--key' ? options[1] : undefined;
  if (lstatSync(file).isDirectory()) {
    console.error(`${file} is a folder; give the archive as it came (.tar.gz)`);
    return 1;
  }
  const { valid, checks, notes } = verifyBundle(
    readFileSync(file),
    keyFile === undefined ? null : readFileSync(keyFile, 'utf8'),
  );
  for (const { what, holds, detail } of checks) console.log(`${holds ? 'ok     ' : 'BROKEN '} ${what}: ${detail}`);
  for (const note of notes) console.log(`note    ${note}`);
  if (valid) console.log('the bundle holds');
  else if (checks.every(({ holds }) => holds))
    console.log('NOT PROVED: what could be checked holds, but not who signed it; give --key <public key, PEM>');
  else console.log('INVALID: this is not what the ledger signed');
  return valid ? 0 : 2;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    process.exitCode = main(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
