import { describe, expect, it } from '@jest/globals';
import {
  EXPLAINED,
  findHollow,
  hollowErrorCodes,
  hollowEventKinds,
  hollowFields,
  hollowMetrics,
  hollowPolicyInput,
  hollowRoutes,
  hollowRowFields,
  hollowSettings,
  hollowSignals,
  productSources,
} from './find-hollow.js';

describe('nothing in the product is hollow', () => {
  it('each setting is read, each code answered, each kind written, each metric set, each fact of the rules filled in, each route asks', () => {
    const found = findHollow();
    expect(found.filter(({ name }) => !Object.hasOwn(EXPLAINED, name))).toEqual([]);
    expect(Object.keys(EXPLAINED).filter((name) => !found.some((one) => one.name === name))).toEqual([]);
  });

  it('is looked for in everything that runs, what people see too', () => {
    const folders = new Set(productSources().map(({ path }) => path.split('/')[0]));
    for (const folder of ['api', 'adapters', 'console', 'domain', 'workflows']) expect(folders).toContain(folder);
  });

  // A search that finds nothing anywhere would be as content as one that looks.
  it('is found where it is: a product without users keeps none of its promises', () => {
    const nobody = [{ path: 'api/empty.ts', text: '' }];
    expect(hollowSettings(nobody).length).toBeGreaterThan(50);
    expect(hollowErrorCodes(nobody).length).toBeGreaterThan(30);
    expect(hollowEventKinds(nobody).length).toBeGreaterThan(20);
    expect(hollowPolicyInput(nobody).length).toBeGreaterThan(10);
  });

  const product = (text: string) => [{ path: 'domain/evidence/reports/x.ts', text }];
  const kinds = (text: string) =>
    hollowEventKinds(product(text))
      .map(({ name }) => name)
      .filter((name) => name.startsWith('x.') || name.startsWith('x_'));

  it.each([
    ['compares', "if (fact.kind === 'x.happened') n += 1;"],
    ['compares the other way round, in a type of its own', "if (('x.happened' as const) !== row.event_kind) n += 1;"],
    ['chooses by', "switch (kind) { case 'x.happened': n += 1; }"],
    ['lists among others', "const SEEN = new Set(['proxy.verdict', 'x.happened']);"],
    ['lists, satisfied', "const SEEN = ['proxy.verdict' satisfies EventKind, 'x.happened'] as const;"],
    ['compares, without a dot', "if (kind === 'x_happened') n += 1;"],
  ])('an event kind that a reader %s and nobody writes', (_how, text) => {
    expect(kinds(text)).toHaveLength(1);
  });

  it.each([
    ['handed on', "append(row('x.happened', id));"],
    ['a value', "append({ event_kind: 'x.happened' });"],
    ['one of two', "append(row(late ? 'x.happened' : 'x.missed', id));"],
    ['a table', "const EVENT = { ended: 'x.happened' } as const;"],
    ['put together', "append(row(`x.${state}`)); const states = ['happened'];"],
  ])('none that is written as %s', (_how, text) => {
    expect(kinds(`${text} if (fact.kind === 'x.happened') n += 1;`)).toEqual([]);
  });

  it('a comment or a type writes nothing', () => {
    const read = "if (fact.kind === 'x.happened') n += 1;";
    expect(kinds(`${read} // append(row('x.happened'))`)).toEqual(['x.happened']);
    expect(kinds(`${read} type Kind = 'x.happened' | 'y'; const f = (kind: 'x.happened') => 1;`)).toEqual([
      'x.happened',
    ]);
    // A text that looks like the beginning of a comment hides nothing behind it.
    expect(kinds(`${read} const all = '/*'; append(row('x.happened')); const end = '*/';`)).toEqual([]);
  });

  it('a signal that is looked for and that no row carries', () => {
    const signals = (text: string) =>
      hollowSignals(product(text))
        .map(({ name }) => name)
        .filter((name) => name.startsWith('x_'));
    const read = "if (fact.signal === 'x_seen') n += 1;";
    expect(signals(read)).toEqual(['x_seen']);
    expect(signals(`${read} append({ signal: 'x_seen' });`)).toEqual([]);
    expect(signals(`${read} const f = (signal: 'x_seen' | 'y') => append({ signal });`)).toEqual([]);
    expect(hollowSignals(product('')).length).toBeGreaterThan(10);
  });

  it('a field that is empty wherever it is filled in, however often it is handed on', () => {
    const shape = {
      path: 'contracts/x.ts',
      text: 'export const x = z.object({ cost: z.number(), name: z.string() });',
    };
    const fields = (text: string) => hollowFields([shape, { path: 'domain/x.ts', text }]).map(({ name }) => name);
    const empty =
      'const a = { cost: 0 }; const b = { cost: a.cost }; const c = { cost: list.reduce((n, x) => n + x.cost, 0) };';
    expect(fields(empty)).toEqual(['cost']);
    for (const filled of ['const d = { cost: priceOf(a) };', 'const d = { cost: 7 };', 's.cost += 1;', 'f({ cost });'])
      expect(fields(`${empty} ${filled}`)).toEqual([]);
    expect(fields("const a = { name: 'always' };")).toEqual([]);
    expect(fields("const a = { cost: 0, name: '' };")).toEqual(['cost', 'name']);
  });

  describe('a field of rows that no author fills in', () => {
    const unfilled = (text: string, path = 'domain/x.ts') => hollowRowFields([{ path, text }]).map(({ name }) => name);
    const everything = unfilled('');

    it.each([
      ['handed on', 'append({ event_kind: kind, agent_name: row.agent_name });'],
      ['empty', "append({ event_kind: kind, agent_name: null, source: '' });"],
      ['the answer of a report', 'const answer = { agent_name: hits.name, hits: hits.count };'],
      ['a limit', 'const FIELDS = { agent_name: { max: 63 } };'],
      ['of a type alone', 'type Row = { event_kind: string; agent_name: string };'],
    ])('%s is not filled in', (_how, text) => {
      expect(unfilled(text)).toContain('agent_name');
    });

    it.each([
      ['in a row', 'append({ event_kind: kind, agent_name: name, whatever: 1 });'],
      ['in a part of one', 'append(row(kind, { agent_name: name, source }));'],
    ])('%s it is', (_how, text) => {
      expect(unfilled(text)).not.toContain('agent_name');
    });

    it('what reads look for in a row, and none has', () => {
      expect(everything).toEqual(expect.arrayContaining(['agent_id', 'source', 'original_method', 'brain_delta']));
      expect(unfilled('append(row(kind, { policy: { original_method: method } }));')).not.toContain('original_method');
      expect(unfilled('const query = { original_method: detail };', 'api/ledger/x.ts')).toContain('original_method');
    });
  });

  it('a metric that is declared and never set', () => {
    const declared = "const lost = new Counter({ name: 'gate_lost_total', help: 'x', registers });\n";
    const metrics = (text: string) => hollowMetrics([{ path: 'api/x/metrics.ts', text }]).map(({ name }) => name);
    expect(metrics(declared)).toEqual(['gate_lost_total']);
    expect(metrics(`${declared}return { lost: () => lost.inc() };`)).toEqual([]);
  });

  it('a route that answers what stands in the source', () => {
    const routes = (text: string) => hollowRoutes([{ path: 'api/x/routes/y.ts', text }]).map(({ name }) => name);
    expect(routes("app.get('/policies', { schema }, async () => ({ policies: ['a'], count: 1 }));")).toEqual([
      'GET /policies',
    ]);
    expect(routes("app.get('/policies', { schema }, async () => ({ policies: set.names() }));")).toEqual([]);
  });

  const answering = (handler: string, around = '') =>
    hollowRoutes([{ path: 'api/x/routes/y.ts', text: `${around}\napp.get('/x', { schema }, ${handler});` }]).length > 0;

  it.each([
    ['a constant of the file', 'async () => ANSWER', "const ANSWER: Answer = { policies: ['a'] } as const;"],
    ['a helper', 'async () => answer()', 'function answer(): Answer { return { a: 1, b: [true, null] }; }'],
    ['an arrow helper', '() => answer(7)', 'const answer = (n: number) => ({ a: 1 });'],
    [
      'a helper of a helper',
      '() => ({ ...first(), b: 2 })',
      'const first = () => second();\nconst second = () => ({ a: 1 });',
    ],
    ['a choice of two constants', '(request) => (request.query.all ? { a: 1 } : { a: 2 })', ''],
    [
      'a choice by statement',
      "async (request) => { if (request.query.all) return ['a']; return NONE; }",
      'const NONE = [];',
    ],
    ['a constant behind an answer that may be missing', '() => undefined ?? { a: 1 }', ''],
    ['a promise', '() => Promise.resolve({ a: 1 })', ''],
    ['what it sends', "async (_request, reply) => reply.code(200).send({ status: 'satisfied' })", ''],
    ['what it sends by a statement', '(request, reply) => { void reply.send(ANSWER); }', "const ANSWER = { a: 'b' };"],
    ['a handler by name', 'listed', 'async function listed(request: Request) { return { a: 1 }; }'],
    ['a schema over a constant', '() => answer.parse({ a: 1 })', ''],
    ['a member of a constant', '() => ANSWERS.first', 'const ANSWERS = { first: { a: 1 } };'],
    ['a variable in the handler', '() => { const found = { a: 1 }; return found; }', ''],
  ])('a route that answers %s', (_what, handler, around) => {
    expect(answering(handler, around)).toBe(true);
  });

  it('a route that answers a constant of another file', () => {
    const route = {
      path: 'api/x/routes/y.ts',
      text: "import { ANSWER } from '../z.js';\napp.get('/x', () => ANSWER);",
    };
    expect(hollowRoutes([route, { path: 'api/x/z.ts', text: 'export const ANSWER = { a: 1 };' }])).toHaveLength(1);
    expect(hollowRoutes([route, { path: 'api/x/z.ts', text: 'export const ANSWER = load();' }])).toEqual([]);
  });

  it('no route that changes something before it says that it did, but one that only says so', () => {
    const post = (handler: string) =>
      hollowRoutes([{ path: 'api/x/routes/y.ts', text: `app.post('/x', { schema }, ${handler});` }]).length;
    expect(post("async () => { await cases.close(); return { status: 'closed' }; }")).toBe(0);
    expect(post("async () => { return { status: 'closed' }; }")).toBe(1);
  });

  it.each([
    ['a store', 'async () => ({ rows: await store.rows() })', ''],
    ['its options', '() => ({ status: 1, service })', ''],
    ['the request', '(request) => ({ a: request.id })', ''],
    ['a helper that asks', '() => answer()', 'const answer = () => ({ a: set.names() });'],
    ['in one of two cases', '(request) => (request.query.all ? store.all() : [])', ''],
    ['what was read at the start', '() => text', "const text = readFileSync('x');"],
    ['what somebody else wrote', '(_request, reply) => reply.send(text)', ''],
  ])('no route that asks %s', (_what, handler, around) => {
    expect(answering(handler, around)).toBe(false);
  });
});
