import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { sha256Hex } from '../domain/crypto/digest.js';
import { errorText } from '../domain/errors.js';
import {
  compiledSourcesSha256,
  POLICY_LAYOUT,
  readPolicyFiles,
  shippedPolicyDirectory,
} from '../adapters/policy/policy-sources.js';
import { readersOf } from '../adapters/policy/argument-readers.js';
import { fileInTar } from '../adapters/policy/tar-file.js';
import { findOpa } from '../stack/programs/find-program.js';
import { buildTemplates } from './build-templates.js';
import { heldAgainstCases } from './policy-cases.js';
import { type BuildOptions, OPA_LIMIT_MS, opaRun } from './run-opa.js';
import { policyData } from '../domain/policy/policy-data.js';
import { createPolicySet } from '../domain/policy/policy-set.js';
import {
  RESPONSE_ENTRYPOINT,
  ENTRYPOINT,
  type PolicyManifest,
  policyManifest,
  TOOL_ENTRYPOINT,
} from '../domain/policy/policy-files.js';

const run = promisify(execFile);
const ENTRYPOINTS = [ENTRYPOINT, TOOL_ENTRYPOINT, RESPONSE_ENTRYPOINT];
/** The rules' tests may use every built-in function, the rules only those of the wasm runtime. */
const RULES_ONLY = [
  '--capabilities',
  POLICY_LAYOUT.capabilities,
  '--ignore',
  '*_test.rego',
  '--ignore',
  'templates',
  '--bundle',
  '.',
];

/**
 * Compiles the rules of a policy folder to wasm, with the built-in functions the wasm runtime has and no others: a rule that asks for
 * the time, the network or randomness does not compile. Same rules and same compiler, same bytes.
 */
export async function compilePolicies({ directory, opa }: BuildOptions): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'gate-policies-'));
  try {
    const bundle = join(folder, 'bundle.tar.gz');
    const target = ['--target', 'wasm', ...ENTRYPOINTS.flatMap((name) => ['--entrypoint', name]), '--output', bundle];
    await opaRun(opa, directory, ['build', ...target, ...RULES_ONLY]);
    return fileInTar(gunzipSync(await readFile(bundle)), '/policy.wasm');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Strict check, format check and the rules' own tests. Throws with what OPA said. */
export async function checkPolicies({ directory, opa, onProgress }: BuildOptions): Promise<void> {
  onProgress?.('the rules: opa check, opa fmt, opa test');
  await opaRun(opa, directory, ['check', '--strict', ...RULES_ONLY]);
  await opaRun(opa, directory, ['check', '--strict', '--ignore', 'templates', '--bundle', '.']);
  await opaRun(opa, directory, ['fmt', '--diff', '--fail', '.']);
  await opaRun(opa, directory, ['test', '--bundle', '--ignore', 'templates', '--timeout', '60s', '.']);
}

/** Holds compiled rules against `policies/cases`. Throws with each case that is false. */
async function checkCases(
  { directory, onProgress }: BuildOptions,
  wasm: Buffer,
  files: Awaited<ReturnType<typeof readPolicyFiles>>,
) {
  onProgress?.('the cases of policies/cases, by the compiled rules');
  const data = policyData.parse(JSON.parse(files.find((file) => file.content_type === 'json')?.body ?? ''));
  const policies = createPolicySet({
    wasm,
    ...(await readersOf(data)),
    data,
    files,
    version: 'unwritten',
    maxMemoryPages: 1_024,
    origin: { directory, loaded_at: '', wasm_sha256: sha256Hex(wasm), opa_version: '', entrypoints: ENTRYPOINTS },
  });
  const { count, wrong } = await heldAgainstCases(policies, directory);
  if (wrong.length > 0) throw new Error(`${wrong.length} of ${count} cases are false:\n${wrong.join('\n')}`);
}

/**
 * Checks, compiles, holds against the cases and writes `compiled/policy.wasm` with the manifest that names the hash of its sources
 * (docs/architecture/verdict.md#policy-decision). Running it again over unchanged rules changes nothing; the version moves only
 * with the rules.
 */
export async function buildPolicies(options: BuildOptions, today = new Date()): Promise<PolicyManifest> {
  const { directory, opa } = options;
  await checkPolicies(options);
  options.onProgress?.('compiling');
  const wasm = await compilePolicies(options);
  const files = await readPolicyFiles(directory);
  await checkCases(options, wasm, files);
  const manifestPath = join(directory, POLICY_LAYOUT.manifest);
  const before = await readFile(manifestPath, 'utf8').then(
    (text) => policyManifest.safeParse(JSON.parse(text)).data,
    () => undefined,
  );
  const sources = await compiledSourcesSha256(directory, files);
  const manifest: PolicyManifest = {
    schema_version: 1,
    version: before?.sources_sha256 === sources ? before.version : nextVersion(before?.version, today),
    sources_sha256: sources,
    wasm_sha256: sha256Hex(wasm),
    opa_version: await opaVersion(opa),
    policy_count: files.length,
    entrypoints: ENTRYPOINTS,
  };
  await mkdir(dirname(manifestPath), { recursive: true });
  await writeFile(join(directory, POLICY_LAYOUT.wasm), wasm);
  await writeFile(manifestPath, `${JSON.stringify(manifest, null, 2)}\n`);
  return manifest;
}

/** The compiler's own version, "1.22.0". */
export async function opaVersion(opa: string): Promise<string> {
  const { stdout } = await run(opa, ['version'], { timeout: OPA_LIMIT_MS });
  const version = /^Version: (\S+)/m.exec(stdout)?.[1];
  if (!version) throw new Error(`${opa} does not tell its version`);
  return version;
}

function nextVersion(before: string | undefined, today: Date): string {
  const date = today.toISOString().slice(0, 10);
  const [lastDate, generation] = before?.split('.') ?? [];
  return `${date}.${lastDate === date ? Number(generation) + 1 : 1}`;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const say = (line: string): boolean => process.stderr.write(`${line}\n`);
  try {
    const opa = await findOpa({ onProgress: say });
    const directory = shippedPolicyDirectory();
    const manifest = await buildPolicies({ directory, opa, onProgress: say });
    const { templates } = await buildTemplates({ directory, opa, onProgress: say });
    say(
      `policies ${manifest.version}: ${manifest.policy_count} files, wasm ${manifest.wasm_sha256.slice(0, 12)}; ${templates.length} templates`,
    );
  } catch (error) {
    say(errorText(error));
    process.exitCode = 1;
  }
}
