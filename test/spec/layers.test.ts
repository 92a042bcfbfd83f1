import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const ROOT = new URL('../../', import.meta.url).pathname;

const files = execFileSync('git', ['ls-files', '*.ts', '*.tsx'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && !/\.test\.tsx?$|^(test|bench)\//.test(file));
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** A script that is started by its address, as a thread is: whoever starts it needs it as if it were imported. */
const STARTED = /new URL\('(\.{1,2}\/[^']+\.js)', import\.meta\.url\)/g;

/** Imports of a file, as paths from the root. */
const importsIn = (file: string, text: string): (readonly [string, string])[] =>
  [...text.matchAll(/(?:from|import|import\()\s*'(\.{1,2}\/[^']+)'/g), ...text.matchAll(STARTED)].map(
    ([, target]) => [file, join(dirname(file), target as string)] as const,
  );

/** Those of the product's files; tests may reach anywhere. */
const imports = files.flatMap((file) => importsIn(file, textOf(file)));

const crossing = (from: RegExp, to: RegExp): string[] =>
  imports
    .filter(([file, target]) => from.test(file) && to.test(target))
    .map(([file, target]) => `${file} -> ${target}`);

describe('imports go one way', () => {
  it('sees the imports of the whole product', () => {
    expect(imports.length).toBeGreaterThan(1_000);
  });

  it('sees what a file imports, whenever it does, and the threads that it starts', () => {
    const text = `import { a } from './a.js';
      export type { B } from '../b.js';
      const c = await import('./c.js');
      new Worker(new URL('./d-thread.js', import.meta.url));`;
    const targets = importsIn('folder/x.ts', text).map(([, target]) => target);
    expect(targets).toEqual(['folder/a.js', 'b.js', 'folder/c.js', 'folder/d-thread.js']);
  });

  it.each([
    ['what others share knows none of them', /^contracts\//, /^(?!contracts\/)/],
    [
      'the knowledge knows no database, no HTTP, no workflow and no composition',
      /^domain\//,
      /^(?!contracts\/|domain\/)/,
    ],
    [
      'an adapter knows the knowledge that it serves, and nobody who uses it',
      /^adapters\//,
      /^(?!adapters\/|contracts\/|domain\/|migrations\/)/,
    ],
    [
      'the chain knows nothing of what is made from its rows',
      /^(adapters|domain)\/ledger\//,
      /^(adapters|domain)\/evidence\//,
    ],
    [
      'workflows know activities and the knowledge alone',
      /^workflows\//,
      /^(?!workflows\/|activities\/|contracts\/|domain\/)/,
    ],
    [
      'activities know the knowledge alone',
      /^activities\//,
      /^(api|workflows|workers|lite|stack|cli|scripts|demo|config)\//,
    ],
    ['what runs needs nothing that maintains the repository', /^(?!scripts\/)/, /^scripts\//],
    ['services know no composition', /^api\//, /^(lite|stack|cli|scripts|demo)\//],
    [
      'what connects to Temporal knows no service and no composition',
      /^workers\//,
      /^(api|lite|stack|cli|scripts|demo)\//,
    ],
    ['lite knows nothing of the other edition’s composition', /^lite\//, /^(stack|cli|scripts|demo)\//],
    [
      'settings know nobody who reads them',
      /^config\//,
      /^(api|activities|workflows|workers|lite|stack|cli|scripts|demo)\//,
    ],
    [
      'a migration imports migrations alone: nothing that may change after it ran',
      /^migrations\//,
      /^(?!migrations\/)/,
    ],
    ['pages know the knowledge that they show, and no service', /^console\//, /^(?!console\/|contracts\/|domain\/)/],
    ['a start is handed its demonstration, which in turn may know how a stack starts', /^stack\//, /^demo\//],
    ['nobody reaches into the command line', /^(?!cli\/)/, /^cli\//],
    [
      'a route of the ledger takes the parts of the chain and of the evidence that it needs, not what opens them',
      /^api\/ledger\/routes\//,
      /^api\/ledger\/(?:app|open|reads)\.js$|^adapters\/evidence\/(?:evidence|derived)\.js$/,
    ],
    [
      'other services and lite use the ledger through its port or its parts',
      /^(?!api\/ledger\/|adapters\/)/,
      /^adapters\/ledger\/ledger-store\.js$|^adapters\/evidence\/evidence\.js$/,
    ],
  ])('%s', (_, from, to) => {
    expect(crossing(from, to)).toEqual([]);
  });
});

describe('the opened ledger, which holds all parts of a chain', () => {
  const naming = imports
    .filter(([, target]) => /^adapters\/(?:ledger\/ledger-store|evidence\/evidence)\.js$/.test(target))
    .map(([file]) => [file, readFileSync(join(ROOT, file), 'utf8').replaceAll(/^import .*$/gm, '')] as const)
    .filter(([, text]) => /\b(?:OpenedLedger|LedgerWithEvidence)\b/.test(text));

  it('is named only where it is opened and where its parts are handed out', () => {
    expect([...new Set(naming.map(([file]) => file))].sort()).toEqual([
      'adapters/evidence/evidence.ts',
      'api/ledger/app.ts',
      'api/ledger/sweeps.ts',
    ]);
  });

  it('is handed out in parts alone', () => {
    const whole = naming.filter(([, text]) => /(?<!\bPick<\s*)\b(?:OpenedLedger|LedgerWithEvidence)\b/.test(text));
    expect([...new Set(whole.map(([file]) => file))]).toEqual(['adapters/evidence/evidence.ts']);
  });
});

describe('the opened review rows, which are a part for each thing that is done with them', () => {
  const ports = readFileSync(join(ROOT, 'domain/review/ports.ts'), 'utf8');
  const [opened = ''] = /^export interface OpenedReviews \{\n.*?^\}/ms.exec(ports) ?? [];
  const parts = [...opened.matchAll(/^ {2}readonly (\w+): Review(\w+);$/gm)].map(
    ([, part, name]) => [part, name] as const,
  );

  it('are handed out in parts alone', () => {
    const files = [
      ...new Set(
        imports
          .filter(([, target]) => /^domain\/(?:review|notification)\/ports\.js$/.test(target))
          .map(([file]) => file),
      ),
    ];
    const whole = files.filter((file) =>
      /(?<!\bPick<\s*)\b(?:OpenedReviews|ReviewsWithNotices)\b/.test(
        readFileSync(join(ROOT, file), 'utf8').replaceAll(/^import .*$/gm, ''),
      ),
    );
    expect(files.length).toBeGreaterThan(20);
    expect(whole).toEqual(['adapters/review/review-store.ts', 'domain/notification/ports.ts']);
  });

  it('have at most four things to do in a part', () => {
    expect(parts.map(([part]) => part)).toEqual(
      expect.arrayContaining(['reads', 'parking', 'settling', 'lists', 'notes', 'feed', 'retention', 'alarms']),
    );
    const does = parts.map(([, name]) => {
      const [, body = ''] = new RegExp(`^export interface Review${name} \\{\n(.*?)^\\}`, 'ms').exec(ports) ?? [];
      return [name, body.match(/^ {2}\w+\(/gm)?.length ?? 0] as const;
    });
    expect(does.filter(([, members]) => members === 0 || members > 4)).toEqual([]);
  });
});

/** Imports that the running program follows; what is taken as a type alone is gone by then. */
const followed = imports.filter(([file, target]) => {
  const text = textOf(file);
  const name = target.split('/').at(-1) as string;
  const run = /(?:^|\n)(?:import|export)(?! type\b)[^;']*?from\s*'([^']+)'|import\('([^']+)'\)/g;
  return [...text.matchAll(run), ...text.matchAll(STARTED)].some(
    ([, from, lazily]) => (from ?? lazily)?.startsWith('.') && (from ?? lazily)?.endsWith(`/${name}`),
  );
});

/** The file that is compiled to what an import names. */
const sourceOf = (target: string, among: ReadonlySet<string>): string => {
  const [script, page] = ['.ts', '.tsx'].map((end) => target.replace(/\.js$/, end)) as [string, string];
  return among.has(page) ? page : script;
};

/** One way round for each circle, from the file where it is met first. */
function circles(edges: readonly (readonly [string, string])[]): string[] {
  const from = new Set(edges.map(([file]) => file));
  const targets = new Map<string, string[]>();
  for (const [file, target] of edges) targets.set(file, [...(targets.get(file) ?? []), sourceOf(target, from)]);
  const left = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, above: readonly string[]): void => {
    if (above.includes(file)) found.push([...above.slice(above.indexOf(file)), file].join(' -> '));
    if (above.includes(file) || left.has(file)) return;
    for (const target of targets.get(file) ?? []) visit(target, [...above, file]);
    left.add(file);
  };
  for (const file of targets.keys()) visit(file, []);
  return found;
}

/** Of imports, those from one folder to another; a folder and one inside it are of one subject. */
const betweenSubjects = (edges: readonly (readonly [string, string])[]): (readonly [string, string])[] =>
  edges
    .map(([file, target]) => [dirname(file), dirname(target)] as const)
    .filter(([one, other]) => !`${other}/`.startsWith(`${one}/`) && !`${one}/`.startsWith(`${other}/`));

describe('no subject needs itself, by whatever way round', () => {
  it('finds a circle where there is one', () => {
    const there = ['layer/a/x.ts', 'layer/b/y.js'] as const;
    const on = ['layer/b/z.ts', 'layer/c/w.js'] as const;
    expect(circles(betweenSubjects([there, ['layer/b/z.ts', 'layer/a/w.js']]))).toEqual([
      'layer/a -> layer/b -> layer/a',
    ]);
    expect(circles(betweenSubjects([there, on, ['layer/c/v.ts', 'layer/a/w.js']]))).toEqual([
      'layer/a -> layer/b -> layer/c -> layer/a',
    ]);
    expect(circles(betweenSubjects([there, on, ['layer/b/v.ts', 'layer/b/inside/u.js']]))).toEqual([]);
  });

  it.each(['domain', 'adapters', 'api', 'activities', 'workflows'])('in %s', (layer) => {
    const inside = imports.filter(([file, target]) => [file, target].every((path) => path.startsWith(`${layer}/`)));
    expect(inside.length).toBeGreaterThan(5);
    expect(circles(betweenSubjects(inside))).toEqual([]);
  });
});

describe('no file needs itself', () => {
  it('finds a circle where there is one', () => {
    expect(
      circles([
        ['a.ts', 'b.js'],
        ['b.ts', 'c.js'],
        ['c.ts', 'b.js'],
      ]),
    ).toEqual(['b.ts -> c.ts -> b.ts']);
    expect(
      circles([
        ['a.tsx', 'b.js'],
        ['b.ts', 'a.js'],
      ]),
    ).toEqual(['a.tsx -> b.ts -> a.tsx']);
  });

  it('to run, directly or through others', () => {
    expect(followed.length).toBeGreaterThan(800);
    expect(circles(followed)).toEqual([]);
  });

  it('for its types', () => {
    expect(circles(imports)).toEqual([]);
  });
});

/** What the knowledge may import from outside the repository, each with the reason why it is no input or output. */
const COMPUTES: Readonly<Record<string, string>> = {
  'node:crypto': 'digests, signatures and ciphers of what is given',
  'node:perf_hooks': 'the clock',
  'node:timers/promises': 'a pause',
  'node:url': 'names of hosts in the forms that they have',
  '@modelcontextprotocol/core': 'the shapes of messages',
  '@simplewebauthn/server': 'checks signatures; certificates, whose lists it would fetch, are refused before',
  '@simplewebauthn/server/helpers': 'reads keys',
  'ajv/dist/2020.js': 'holds values against a JSON Schema, both in memory',
  '@open-policy-agent/opa-wasm': 'runs rules that are in memory, with data that is in memory',
  avsc: 'writes Avro into memory',
  canonicalize: 'canonical JSON',
  'ipaddr.js': 'reads addresses as text',
  jose: 'signatures of what is given',
  'lru-cache': 'a map that forgets',
  re2js: 'regular expressions in linear time',
  yaml: 'reads text',
  zod: 'checks values',
};

describe('the knowledge', () => {
  const texts = execFileSync('git', ['ls-files', 'domain/*.ts'], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && !file.endsWith('.test.ts'))
    .map((file) => [file, readFileSync(join(ROOT, file), 'utf8')] as const);
  const packagesIn = (text: string): string[] =>
    [
      ...text.matchAll(/(?:^|\n)(?:import\b[^;']*|export\b[^;'=]*\bfrom\s*)'([^'\n.][^'\n]*)';/g),
      ...text.matchAll(/\b(?:import|require)\('([^'.][^']*)'\)/g),
    ].map(([, name]) => name as string);

  it('imports only what computes, not even the types of what reads or writes', () => {
    const used = texts.flatMap(([file, text]) => packagesIn(text).map((name) => [file, name] as const));
    expect(used.length).toBeGreaterThan(30);
    expect(used.filter(([, name]) => !(name in COMPUTES)).map((one) => one.join(' -> '))).toEqual([]);
    expect(Object.keys(COMPUTES).filter((name) => !used.some(([, one]) => one === name))).toEqual([]);
  });

  it('uses nothing global that reads or writes either', () => {
    const reaches = /(?<![\w.'`])(?:fetch\(|new (?:WebSocket|EventSource|Worker)\(|process\.(?:env|std|cwd|argv|on)\b)/;
    expect(reaches.test('await fetch(url)')).toBe(true);
    expect(texts.filter(([, text]) => reaches.test(text)).map(([file]) => file)).toEqual([]);
  });
});
