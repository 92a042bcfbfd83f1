import { describe, expect, it } from '@jest/globals';
import {
  EXPLAINED,
  findHollow,
  hollowErrorCodes,
  hollowEventKinds,
  hollowMetrics,
  hollowPolicyInput,
  hollowRoutes,
  hollowSettings,
} from './find-hollow.js';

describe('nothing in the product is hollow', () => {
  it('each setting is read, each code answered, each kind written, each metric set, each fact of the rules filled in, each route asks', () => {
    const found = findHollow();
    expect(found.filter(({ name }) => !Object.hasOwn(EXPLAINED, name))).toEqual([]);
    expect(Object.keys(EXPLAINED).filter((name) => !found.some((one) => one.name === name))).toEqual([]);
  });

  // A search that finds nothing anywhere would be as content as one that looks.
  it('is found where it is: a product without users keeps none of its promises', () => {
    const nobody = [{ path: 'api/empty.ts', text: '' }];
    expect(hollowSettings(nobody).length).toBeGreaterThan(50);
    expect(hollowErrorCodes(nobody).length).toBeGreaterThan(30);
    expect(hollowEventKinds(nobody).length).toBeGreaterThan(20);
    expect(hollowPolicyInput(nobody).length).toBeGreaterThan(10);
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
