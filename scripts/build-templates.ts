import { readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { templateFacts } from '../contracts/policy-library.js';
import { POLICY_LAYOUT, readPolicyFiles } from '../adapters/policy/policy-sources.js';
import { schemaPath, type TemplateIndex } from '../adapters/policy/template-files.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import { headerOf } from '../domain/policy/policy-header.js';
import { type BuildOptions, opaRun } from './run-opa.js';

/** The rules that policies share, the templates, and the data that they read; no rule of the floor. */
const TEMPLATES = [
  '--ignore',
  '*.yaml',
  '--ignore',
  '*.schema.json',
  POLICY_LAYOUT.library,
  POLICY_LAYOUT.templates,
  POLICY_LAYOUT.data,
];

/** Strict check with the functions that rules may use, and the templates' own tests. Throws with what OPA said. */
export async function checkTemplates({ directory, opa, onProgress }: BuildOptions): Promise<void> {
  onProgress?.('the templates: opa check, opa test');
  const rulesOnly = ['--capabilities', POLICY_LAYOUT.capabilities, '--ignore', '*_test.rego'];
  await opaRun(opa, directory, ['check', '--strict', ...rulesOnly, ...TEMPLATES]);
  await opaRun(opa, directory, ['check', '--strict', ...TEMPLATES]);
  await opaRun(opa, directory, ['test', '--timeout', '60s', ...TEMPLATES]);
}

/** What the catalogue has, by its files. Throws where a header lacks something, or a name is taken. */
export async function templatesIn(directory: string): Promise<TemplateIndex> {
  const root = join(directory, POLICY_LAYOUT.templates);
  const paths = (await readdir(root, { recursive: true })).filter(
    (path) => path.endsWith('.rego') && !path.endsWith('_test.rego'),
  );
  const templates = await Promise.all(
    paths.map(async (path): Promise<TemplateIndex['templates'][number]> => {
      const body = await readFile(join(root, path), 'utf8');
      const facts = templateFacts.safeParse({ ...headerOf(body), name: basename(path), content_type: 'rego' });
      if (!facts.success)
        throw new Error(
          `${path}: its header: ${facts.error.issues.map(({ path: key, message }) => `${key.join('.')}: ${message}`).join('; ')}`,
        );
      if (facts.data.domain !== dirname(path))
        throw new Error(`${path}: its header has the domain ${facts.data.domain}`);
      const schema = await readFile(schemaPath(join(root, path)), 'utf8').catch(() => null);
      return {
        ...facts.data,
        body_sha256: sha256Hex(body),
        parameters_sha256: schema === null ? null : sha256Hex(schema),
      };
    }),
  );
  templates.sort((one, other) => (one.name < other.name ? -1 : 1));
  const taken = new Set((await readPolicyFiles(directory)).map(({ name }) => name));
  for (const { name } of templates) {
    if (taken.has(name)) throw new Error(`two policies are named ${name}`);
    taken.add(name);
  }
  return { schema_version: 1, templates };
}

/** Checks the templates and writes the index that Gate lists them from. */
export async function buildTemplates(options: BuildOptions): Promise<TemplateIndex> {
  await checkTemplates(options);
  const index = await templatesIn(options.directory);
  await writeFile(join(options.directory, POLICY_LAYOUT.templateIndex), `${JSON.stringify(index, null, 2)}\n`);
  return index;
}
