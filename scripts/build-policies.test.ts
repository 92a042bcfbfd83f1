import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { sha256Hex } from '../domain/crypto/digest.js';
import { compiledSourcesSha256, readPolicyFiles, shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { buildPolicies, checkPolicies, compilePolicies, opaVersion } from './build-policies.js';
import { PROJECT_ROOT } from '../config/project-root.js';
import { needs } from '../test/support/needs.js';
import { policyManifest } from '../domain/policy/policy-files.js';

const directory = shippedPolicyDirectory();
const manifestOf = async (folder: string) =>
  policyManifest.parse(JSON.parse(await readFile(join(folder, 'compiled', 'manifest.json'), 'utf8')));

/** The compiler, where this machine has one. A single test neither builds nor downloads it; `npm test` and `npm run policies` do. */
const opa = [
  process.env['GATE_OPA_BIN'],
  join(process.env['GATE_CACHE_DIR'] ?? join(PROJECT_ROOT, '.cache', 'bin'), 'opa'),
  'opa',
].find((candidate): candidate is string => {
  try {
    return candidate !== undefined && execFileSync(candidate, ['version'], { stdio: 'pipe' }).length > 0;
  } catch {
    return false;
  }
});
const withOpa = opa === undefined ? it.skip : it;
const needsOpa = needs('opa', opa !== undefined);
const compiler = opa ?? '';

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));
/** The rules without their tests, which take as long as all else together and pass once, above; with one file more. */
async function copyWith(file: string, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gate-policy-'));
  folders.push(folder);
  await cp(directory, folder, { recursive: true, filter: (path) => !path.endsWith('_test.rego') });
  await writeFile(join(folder, 'gate', 'authz', file), text);
  return folder;
}
const RULE_HEAD = 'package gate.authz\n\nimport rego.v1\n\n';

describe('the shipped wasm is committed with the hash of its sources', () => {
  it('belongs to the rules as they are now; if this fails, run npm run policies', async () => {
    const manifest = await manifestOf(directory);
    const files = await readPolicyFiles(directory);
    expect(manifest.sources_sha256).toBe(await compiledSourcesSha256(directory, files));
    expect(manifest.wasm_sha256).toBe(sha256Hex(await readFile(join(directory, 'compiled', 'policy.wasm'))));
    expect(manifest.policy_count).toBe(files.length);
  });

  withOpa(`is what the compiler makes of them${needsOpa}`, async () => {
    const manifest = await manifestOf(directory);
    const wasm = await compilePolicies({ directory, opa: compiler });
    // Another release of the compiler may lay out the same rules differently; it must still compile them.
    if ((await opaVersion(compiler)) === manifest.opa_version) expect(sha256Hex(wasm)).toBe(manifest.wasm_sha256);
    else expect(wasm.subarray(0, 4).toString('latin1')).toBe('\0asm');
  });

  withOpa(`passes the strict check, the format check and its own tests${needsOpa}`, async () => {
    await expect(checkPolicies({ directory, opa: compiler })).resolves.toBeUndefined();
  });
});

describe('npm run policies', () => {
  withOpa(
    `changes nothing when the rules did not change, and gives changed rules a new version${needsOpa}`,
    async () => {
      const folder = await copyWith(
        'extra_test.rego',
        'package gate.authz_test\n\nimport rego.v1\n\ntest_yes := true\n',
      );
      const before = await manifestOf(folder);
      const day = new Date('2030-01-02T03:04:05Z');
      expect((await buildPolicies({ directory: folder, opa: compiler }, day)).version).toBe(before.version);

      const rule = 'deny contains "Violation: no pigeons." if "pigeon" in data.gate.lib.tool_forms\n';
      await writeFile(join(folder, 'gate', 'authz', 'pigeon.rego'), RULE_HEAD + rule);
      const first = await buildPolicies({ directory: folder, opa: compiler }, day);
      expect(first.version).toBe('2030-01-02.1');
      expect(first.policy_count).toBe(before.policy_count + 1);
      await writeFile(join(folder, 'gate', 'authz', 'pigeon.rego'), RULE_HEAD + rule.replace('no', 'really no'));
      expect((await buildPolicies({ directory: folder, opa: compiler }, day)).version).toBe('2030-01-02.2');
      expect(await manifestOf(folder)).toMatchObject({ version: '2030-01-02.2' });
    },
    // Three times the compiler.
    180_000,
  );

  withOpa.each([
    ['asks for the time', 'clock_rule.rego', `${RULE_HEAD}late if time.now_ns() > 1\n`, /time\.now_ns/],
    [
      'reaches for the network',
      'net_rule.rego',
      `${RULE_HEAD}up if http.send({"url": "x"}).status_code == 200\n`,
      /http\.send/,
    ],
    ['is not formatted', 'loose.rego', `${RULE_HEAD}x   if   true\n`, /opa fmt/],
    ['does not compile', 'broken.rego', `${RULE_HEAD}x if unheard_of\n`, /opa check: .*unheard_of/s],
    [
      'fails its test',
      'fail_test.rego',
      'package gate.authz_test\n\nimport rego.v1\n\ntest_no if false\n',
      /opa test: .*test_no/s,
    ],
  ])(`refuses a rule that %s${needsOpa}`, async (_what, file, text, expected) => {
    const folder = await copyWith(file, text);
    await expect(buildPolicies({ directory: folder, opa: compiler })).rejects.toThrow(expected);
    expect(await manifestOf(folder)).toEqual(await manifestOf(directory));
  });

  withOpa(`refuses rules of which a case is false, and says which and how${needsOpa}`, async () => {
    const rule = 'deny contains "Violation: no lists." if input.tool_type == "list_files"\n';
    const folder = await copyWith('lists.rego', RULE_HEAD + rule);
    const told: string[] = [];
    const built = buildPolicies({ directory: folder, opa: compiler, onProgress: (line) => told.push(line) });
    await expect(built).rejects.toThrow(
      /cases are false:\n(?:.*\n)*policies\/cases\/[a-z-]+\.yaml: .*: tier is red, not green/,
    );
    expect(told.at(-1)).toMatch(/cases/);
    expect(await manifestOf(folder)).toEqual(await manifestOf(directory));
  });

  it('says which compiler it could not run', async () => {
    await expect(compilePolicies({ directory, opa: join(directory, 'no-such-opa') })).rejects.toThrow(
      /opa build: .*no-such-opa/,
    );
  });
});
