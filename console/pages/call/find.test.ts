import { beforeEach, describe, expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import { consoleHere } from '../../../test/support/console-over-ledger.js';
import { testRow } from '../../../test/support/ledger.js';
import { GateError } from '../../../domain/errors.js';
import type { Visit } from '../../visit.js';
import { queueShown } from '../queue/queue.js';

const CALL = '55555555-5555-4555-8555-555555555555';
const OTHER = '44444444-4444-4444-8444-444444444444';

describe('a call that somebody knows by its id', () => {
  const here = consoleHere();
  beforeEach(async () => {
    await here.gate.ledger.append([testRow()]);
  });
  const found = async (id: string, as: 'acme' | 'globex' = 'acme') => {
    const { status, text } = await here.page.get(`/audit/correlation?id=${encodeURIComponent(id)}`, { as });
    return { status, has: text.includes('<h2 id="verdict">'), text };
  };

  it('is asked for in a field of the audit, and opens by what was typed or pasted there', async () => {
    const audit = (await here.page.get('/audit')).text;
    expect(audit).toContain('action="/audit/correlation"');
    expect(audit).toContain('name="id"');
    for (const typed of [CALL, ` ${CALL.toUpperCase()}\n`])
      expect(await found(typed)).toMatchObject({ status: 200, has: true });
  });

  it('says how its proofs are checked, in a command that is whole', async () => {
    const { text } = await found(CALL);
    const command = 'npx gate verify --bundle gate-proof-1.json --key log.vkey';
    expect(text).toContain(`<code data-copy="${command}">${command}</code>`);
    expect((await here.page.get('/exports')).text).toContain(
      'npx gate verify --bundle ARCHIVE.tar.gz --key ledger-export.pub',
    );
  });

  it.each([OTHER, '55555555', '11111111-1111-1111-1111-111111111111', '<b>', ''])(
    'is told not to be there for %s, with a way on',
    async (id) => {
      const { status, has, text } = await found(id);
      expect({ status, has }).toEqual({ status: 404, has: false });
      expect(text).toContain('No call has this id in your tenant.');
      expect(text).toContain('<a href="/audit">Find a call by its agent, tool or time</a>');
    },
  );

  it('is nobody else’s, and says the same at an address of its own that no call can have', async () => {
    expect(await found(CALL, 'globex')).toMatchObject({ status: 404, has: false });
    const { status, text } = await here.page.get('/audit/correlation/11111111-1111-1111-1111-111111111111');
    expect(status).toBe(404);
    expect(text).toContain('No call has this id in your tenant.');
  });
});

describe('a whole id that is searched for in the queue', () => {
  const searched = async (call: () => Promise<readonly object[]>): Promise<string> => {
    const visit = {
      csrf: 'c',
      nowMs: 0,
      params: {},
      query: { q: CALL },
      person: { subject: 'operator:a', role: 'approver', tenant: 'acme' },
      about: { startedAt: '' },
      twice: [],
      mayPost: () => true,
      services: {
        hil: {
          row: () => Promise.resolve(null),
          byCorrelation: () => Promise.resolve(null),
          summaries: () => Promise.resolve({ items: [], next_cursor: null, searched_to: null, pending_count: 0 }),
        },
        ledger: { call, broken: () => null },
      },
    };
    return render((await queueShown(visit as unknown as Visit, null)).body);
  };

  it('leads to the ledger where the call never waited, which is denied or ran at once', async () => {
    const html = await searched(() => Promise.resolve([testRow()]));
    expect(html).toContain('This call never waited for a person');
    expect(html).toContain(`<a href="/audit/correlation/${CALL}">`);
    expect(html).not.toContain('No call has this id');
  });

  it('says that no call has it only where the ledger has none either, and that it is away where it is', async () => {
    expect(await searched(() => Promise.resolve([]))).toContain('No call has this id');
    const away = await searched(() => Promise.reject(new GateError('ledger_store_unavailable', 'nobody there')));
    expect(away).toContain('No call that waits or waited has this id. The ledger, which has the others, is away');
  });
});
