import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Kysely } from 'kysely';
import type { Json } from '../../../contracts/json.js';
import { sha256Hex } from '../../../domain/crypto/digest.js';
import { errorText, GateError } from '../../../domain/errors.js';
import type { Assurance } from '../../ledger/assurance/assurance.js';
import { type CommittedWalk, freshWalk } from '../../ledger/assurance/fresh-walk.js';
import { canonicalContent, canonicalEntry, CONTENT_FIELDS } from '../../../domain/ledger/canonical-bytes.js';
import { asUnavailable, ENTRY_COLUMNS } from '../../../domain/ledger/chain-store.js';
import { countRow, type WindowCounts, noCounts } from '../../../domain/evidence/compliance/counts.js';
import { complianceRegister } from '../../../domain/evidence/compliance/register.js';
import { entryHash } from '../../../domain/ledger/entry-hash.js';
import { scan } from '../../ledger/rows.js';
import {
  type BlobSignature,
  blobSignatureHolds,
  type BlobSigner,
} from '../../../domain/ledger/signatures/blob-signer.js';
import type { EntryTable, LedgerTables } from '../../../domain/ledger/tables.js';
import { type GoneFrom, windowVacuumed } from '../../ledger/vacuum/gone.js';
import {
  annexIvDocumentation,
  countNames,
  emptyInventory,
  postMarketMonitoringPlan,
} from '../../../domain/evidence/regulatory/documents.js';
import {
  type Committed,
  type Manifest,
  manifestDigest,
  manifestText,
} from '../../../domain/evidence/regulatory/manifest.js';
import { bundleReadme } from '../../../domain/evidence/regulatory/readme.js';
import { type TarFile, tarStream } from './tar.js';
import { toEntry } from '../../../domain/ledger/shown-entry.js';
import { contentValues } from '../../../domain/ledger/cells.js';

/** What to put into a bundle (docs/architecture/ledger-reads.md#regulatory-bundle). */
export interface BundleRequest {
  readonly tenant: string;
  readonly from: string;
  readonly to: string;
  readonly includeExports?: boolean;
  readonly includeCompliance?: boolean;
  readonly annexIv?: boolean;
  readonly postMarketPlan?: boolean;
  /** The provider's own documentation, included unchanged. */
  readonly documentation?: Buffer;
  /** When rows of the window were vacuumed: make a bundle of the rest whose manifest counts them. Otherwise that is an error. */
  readonly markVacuumed?: boolean;
}

/** A signed bundle. Its archive is produced while it is read. */
export interface Bundle {
  readonly manifest: Manifest;
  readonly manifestSha256: string;
  /** The archive as tar.gz. Its temporary files are deleted when the stream ends or fails. */
  stream(): Readable;
  /** Deletes the temporary files of a bundle that nobody will read. */
  discard(): Promise<void>;
}

export interface BundleOptions {
  readonly db: Kysely<LedgerTables>;
  readonly assurance: Pick<Assurance, 'verifyAssured' | 'trustedKey'>;
  readonly head: () => Promise<{ readonly length: number }>;
  readonly signer: BlobSigner | null;
  readonly coldExports: (window: { readonly from: string; readonly to: string }) => Promise<readonly Json[]>;
  /** Which rows of the tenant's window were vacuumed. */
  readonly goneFrom: GoneFrom;
  /** The lines of anchors.ndjson for the anchors between two places, in portions. */
  readonly anchorLines: (seqLo: number, seqHi: number) => AsyncIterable<readonly string[]>;
  readonly clock: () => number;
  /** Folder for rows until the manifest is signed; by default the system's temporary folder. */
  readonly folder?: string | undefined;
}

const COLUMNS = [...ENTRY_COLUMNS, 'deleted_at', 'demo_deleted_at'] as readonly (keyof EntryTable)[];
const PAGE_ROWS = 100;
const SIGNATURE_LIFE_SECONDS = 300;
const FOLDER_PREFIX = 'gate-bundle-';
const DAY_MS = 86_400_000;

/**
 * Makes bundles. Walks the whole chain first, writes rows and links to a temporary folder, signs the manifest, and verifies the signature
 * before anything is handed out. Throws `chain_verification_incomplete` when the chain does not verify or changes meanwhile,
 * `signing_unavailable` without a signer or when its key is not trusted, `window_vacuumed` when rows of the window are gone and
 * `markVacuumed` is not set, and `ledger_store_unavailable`.
 */
export type MakeBundle = (request: BundleRequest) => Promise<Bundle>;

/**
 * Deletes what this user's interrupted bundles left behind, for example after a crash. A day is longer than any bundle takes. The temporary
 * folder is everybody's: what belongs to another user, or cannot be deleted, is left.
 */
export async function sweepLeftBundles(nowMs: number, folder = tmpdir()): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(FOLDER_PREFIX)) continue;
    const path = join(folder, name);
    const found = await lstat(path).catch(() => null);
    if (!found?.isDirectory() || nowMs - found.mtimeMs <= DAY_MS) continue;
    if (process.getuid === undefined || found.uid === process.getuid())
      await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

export function createBundleMaker(options: BundleOptions): MakeBundle {
  const { signer, clock } = options;
  return async (request) => {
    if (signer === null) throw new GateError('signing_unavailable', 'no key to sign bundles with is configured');
    const verification = await freshWalk(options.assurance, (await options.head()).length);
    const folder = await mkdtemp(join(options.folder ?? tmpdir(), FOLDER_PREFIX));
    const discard = () => rm(folder, { recursive: true, force: true });
    try {
      const { files, unsigned } = await writeFiles(options, request, verification, folder);
      const signature = await signed(options, signer, request.tenant, manifestDigest(unsigned));
      const { signature: hex, key_id, signed_at } = signature;
      const manifest: Manifest = {
        ...unsigned,
        signature: { sidecar: 'manifest.sig', algorithm: 'ed25519', digest_alg: 'sha256', key_id, signed_at },
      };
      const text = manifestText(manifest);
      const all: TarFile[] = [
        { name: 'manifest.json', bytes: Buffer.from(text) },
        { name: 'manifest.sig', bytes: Buffer.from(`${hex}\n`) },
        ...files,
      ];
      return {
        manifest,
        manifestSha256: sha256Hex(text),
        stream: () => {
          const tar = Readable.from(tarStream(all, Math.floor(clock() / 1000)), { objectMode: false });
          return pipeline(tar, createGzip(), () => void discard()) as unknown as Readable;
        },
        discard,
      };
    } catch (error) {
      await discard();
      throw error;
    }
  };
}

async function signed(
  { assurance }: BundleOptions,
  signer: BlobSigner,
  tenant: string,
  digest: string,
): Promise<BlobSignature> {
  const binding = {
    tenant,
    audience: 'ledger',
    purpose: 'regulatory-export-manifest',
    operation: 'ledger.export.regulatory',
    lifetime_seconds: SIGNATURE_LIFE_SECONDS,
  } as const;
  try {
    const signature = await signer.sign(binding, digest);
    const key = await assurance.trustedKey(signature.key_id, signature.signed_at);
    if (typeof key === 'string') throw new Error(`the key ${signature.key_id} is not trusted: ${key}`);
    if (signature.algorithm !== 'ed25519' || !blobSignatureHolds(digest, signature.signature, key))
      throw new Error(`the signature by ${signature.key_id} does not hold`);
    return signature;
  } catch (error) {
    throw new GateError('signing_unavailable', errorText(error), { cause: error });
  }
}

/** A file that is hashed while it is written. */
interface HashedFile {
  readonly path: string;
  readonly stream: WriteStream;
  readonly hash: Hash;
  size: number;
  lines: number;
}

function hashedFile(path: string): HashedFile {
  const stream = createWriteStream(path, { mode: 0o600 });
  // A write error is reported when the file is closed.
  stream.on('error', () => undefined);
  return { path, stream, hash: createHash('sha256'), size: 0, lines: 0 };
}

async function writeLines(file: HashedFile, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return;
  const bytes = Buffer.from(`${lines.join('\n')}\n`);
  file.hash.update(bytes);
  file.size += bytes.length;
  file.lines += lines.length;
  if (!file.stream.write(bytes) && !file.stream.errored) await once(file.stream, 'drain');
  if (file.stream.errored) throw file.stream.errored;
}

async function closed(file: HashedFile): Promise<Committed & { readonly count: number }> {
  file.stream.end();
  await finished(file.stream);
  return {
    filename: basename(file.path),
    sha256: file.hash.digest('hex'),
    byte_size: file.size,
    count: file.lines,
  };
}

const changed = (seq: number): GateError =>
  new GateError('chain_verification_incomplete', `entry ${seq} is not what the walk found; nothing is exported`);

/** One line per row: its canonical text with its hash at the end. Throws when the text does not match the hash. */
function lineOf(row: EntryTable): string {
  const seq = Number(row.seq);
  let text: string;
  try {
    const content = canonicalContent(contentValues(CONTENT_FIELDS.map(([name]) => row[name])));
    const position = {
      chainVersion: Number(row.chain_version),
      id: row.id,
      timestamp: row.timestamp,
      seq,
      prevHash: row.prev_hash,
    };
    text = canonicalEntry(position, content);
  } catch {
    throw changed(seq);
  }
  if (entryHash(row.prev_hash, text) !== row.entry_hash) throw changed(seq);
  return `${text.slice(0, -1)},"entry_hash":"${row.entry_hash}"}`;
}

async function writeFiles(
  options: BundleOptions,
  request: BundleRequest,
  verification: CommittedWalk,
  folder: string,
): Promise<{ readonly files: TarFile[]; readonly unsigned: Manifest }> {
  const { db, clock, coldExports, anchorLines, goneFrom } = options;
  const { tenant, from, to } = request;
  const window = { from, to };
  const { commitment } = verification;
  const generatedAt = new Date(clock()).toISOString();
  const gone = await goneFrom({ tenant, from, to });
  if (gone && !request.markVacuumed) throw windowVacuumed(gone);
  const counts: WindowCounts = noCounts();
  const inventory = emptyInventory();
  try {
    const entries = hashedFile(join(folder, 'entries.ndjson'));
    let low: number | null = null;
    let high: number | null = null;
    const filter = { tenant, from, to, seqTo: commitment.length, hiding: 'erased' } as const;
    for await (const page of scan(db, filter, COLUMNS, { pageRows: PAGE_ROWS })) {
      const rows = page as unknown as EntryTable[];
      await writeLines(entries, rows.map(lineOf));
      for (const row of rows) {
        const entry = toEntry(row);
        countRow(counts, entry);
        countNames(inventory, entry);
        low ??= entry.seq;
        high = entry.seq;
      }
    }
    const entriesFile = await closed(entries);

    const links = hashedFile(join(folder, 'chain_links.ndjson'));
    let start: string | null = null;
    let end: string | null = null;
    if (low !== null && high !== null) {
      let expected = low;
      const places = { seqFrom: low, seqTo: high, hiding: 'nothing' } as const;
      for await (const page of scan(db, places, ['prev_hash', 'entry_hash'], { pageRows: PAGE_ROWS * 4 })) {
        const lines: string[] = [];
        for (const row of page as Pick<EntryTable, 'seq' | 'prev_hash' | 'entry_hash'>[]) {
          const { prev_hash, entry_hash } = row;
          if (Number(row.seq) !== expected || (end !== null && prev_hash !== end)) throw changed(expected);
          start ??= prev_hash;
          end = entry_hash;
          lines.push(JSON.stringify({ seq: expected, prev_hash, entry_hash }));
          expected += 1;
        }
        await writeLines(links, lines);
      }
      if (expected !== high + 1) throw changed(expected);
    }
    const after = await goneFrom({ tenant, from, to });
    if ((after?.rows ?? 0) !== (gone?.rows ?? 0)) throw changed(after?.seqHi ?? 0);
    const linksFile = await closed(links);

    const anchors = hashedFile(join(folder, 'anchors.ndjson'));
    if (low !== null && high !== null)
      for await (const lines of anchorLines(low, high)) await writeLines(anchors, lines);
    const anchorsFile = await closed(anchors);

    const documents: TarFile[] = [];
    const add = (name: string, content: Buffer | string): Committed => {
      const bytes = typeof content === 'string' ? Buffer.from(content) : content;
      documents.push({ name, bytes });
      return { filename: name, sha256: sha256Hex(bytes), byte_size: bytes.length };
    };
    const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
    const pointers = await coldExports(window);
    const document = { tenant, window, generatedAt, counts, inventory };
    const { cryptographic_verification: cryptography } = verification;
    const optional = {
      ...(request.documentation && {
        technical_documentation: add('technical_documentation.md', request.documentation),
      }),
      ...(request.includeExports && { parquet_pointers: pointers }),
      ...(request.includeCompliance && {
        compliance_register: add(
          'compliance_register.json',
          json(complianceRegister({ window, counts, verification, coldExports: pointers.length, generatedAt })),
        ),
      }),
      ...(anchorsFile.count > 0 && { anchors: anchorsFile }),
      ...(request.annexIv && { annex_iv: add('annex_iv_documentation.json', json(annexIvDocumentation(document))) }),
      ...(request.postMarketPlan && {
        post_market_monitoring_plan: add('post_market_monitoring_plan.json', json(postMarketMonitoringPlan(document))),
      }),
    };
    const readme = add('README.txt', bundleReadme());
    const unsigned: Manifest = {
      schema_version: '8',
      tenant,
      generated_at: generatedAt,
      window,
      row_count: entriesFile.count,
      seq_lo: low,
      seq_hi: high,
      chain_state: { prev_hash_at_window_start: start, entry_hash_at_window_end: end },
      verified_chain: {
        contract: 'gate.regulatory-bundle-signing/v1',
        commitment,
        cryptographic_contract: cryptography.contract,
        cryptographic_status: cryptography.status,
        historical_key_lineage_sha256: cryptography.key_set?.lineage_sha256 ?? null,
        signed_rows: cryptography.signed_rows,
        nothing_signed: cryptography.nothing_signed,
        verified_signed_rows: cryptography.verified_signed_rows,
        legacy_unverifiable_rows: 0,
        tsa_required: cryptography.tsa.required,
        tsa_verified: cryptography.tsa.verified,
        tsa_trust_bundle_sha256: cryptography.tsa.trust_bundle_sha256,
      },
      ndjson_sha256: entriesFile.sha256,
      article_scope: articleScope(request),
      signature: null,
      ...optional,
      ...(gone && {
        vacuumed: { row_count: gone.rows, seq_lo: gone.seqLo, seq_hi: gone.seqHi, kept_from_seq: gone.cursor.seq + 1 },
      }),
      chain_links: linksFile,
      readme,
    };
    return {
      unsigned,
      files: [
        { name: 'entries.ndjson', path: entries.path, size: entriesFile.byte_size },
        { name: 'chain_links.ndjson', path: links.path, size: linksFile.byte_size },
        ...(anchorsFile.count > 0 ? [{ name: 'anchors.ndjson', path: anchors.path, size: anchorsFile.byte_size }] : []),
        ...documents,
      ],
    };
  } catch (error) {
    throw asUnavailable(error);
  }
}

const articleScope = ({ includeCompliance, annexIv, postMarketPlan }: BundleRequest): string[] => [
  'EU-AI-Act-Article-11',
  'EU-AI-Act-Article-12',
  ...(includeCompliance ? ['EU-AI-Act-Article-14', 'EU-AI-Act-Article-15'] : []),
  ...(annexIv ? ['EU-AI-Act-Annex-IV'] : []),
  ...(postMarketPlan ? ['EU-AI-Act-Article-72'] : []),
];
