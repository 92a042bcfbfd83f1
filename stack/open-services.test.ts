import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { Counter } from 'prom-client';
import type { Listener, Opened, Opening, ServiceDeclaration } from '../api/plugins/declaration.js';
import type { TlsMaterial } from '../api/plugins/service.js';
import { StartError } from '../config/start-error.js';
import { bareService } from '../test/support/bare-service.js';
import { ensureTestPki, type TestPki } from '../test/support/service-certificates.js';
import { openServices, type ServiceProcess } from './open-services.js';
import { Undo } from './undo.js';

const logger = pino({ level: 'silent' });

/** What happened, in order. */
let told: string[];
let undo: Undo;
beforeEach(() => {
  told = [];
  undo = new Undo();
});
afterEach(() => undo.all(logger));

interface Fake extends Partial<Opened<string>> {
  readonly open?: (opening: Opening<never>) => Promise<Partial<Opened<string>>>;
}
type Declared = ServiceDeclaration<string, string>;
function declared(name: string, { open, ...fake }: Fake, more: Partial<Declared> = {}): Declared {
  return {
    name,
    title: name,
    prefix: `GATE_${name.toUpperCase()}`,
    calledBy: 'services',
    settings: {},
    stores: [],
    neighbours: [],
    ...more,
    open: async () => ({
      open: async (opening: Opening<never>) => ({ port: `the port of ${name}`, ...fake, ...(await open?.(opening)) }),
    }),
  };
}
/** A listener that says when it listens and when it is closed. */
const listening = (name: string, listen: () => Promise<void> = () => Promise.resolve()) => ({
  listener: (): Listener => ({
    service: { name, close: async () => void told.push(`${name} closes`) },
    async listen() {
      told.push(`${name} begins to listen`);
      await listen();
      told.push(`${name} listens`);
      return { healthPort: 1 };
    },
  }),
});
/** Resolves when told to, so that order is a matter of conditions and not of time. */
function held(): { readonly until: Promise<void>; letGo(): void } {
  let letGo = () => undefined as void;
  const until = new Promise<void>((resolve) => (letGo = resolve));
  return { until, letGo };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

const processOf = (services: readonly ServiceDeclaration[], more: Partial<ServiceProcess> = {}): ServiceProcess => ({
  services,
  together: true,
  trustDomain: 'gate.local',
  logger,
  undo,
  configOf: () => ({}),
  tlsOf: () => ({}) as TlsMaterial,
  addressOf: () => 'https://127.0.0.1:1',
  opa: () => Promise.resolve(null),
  storeTarget: (store) => ({ file: `/stores/${store}` }),
  shared: () => ({}) as never,
  say: () => undefined,
  failed: () => undefined,
  ...more,
});

describe('the services of a process', () => {
  it('let agents in last: after every other listens and every start is done', async () => {
    const [start, listen] = [held(), held()];
    const proxy = declared('proxy', listening('proxy'), { calledBy: 'agents' });
    const ledger = declared(
      'ledger',
      listening('ledger', () => listen.until),
    );
    const hil = declared('hil', {
      ...listening('hil'),
      async start() {
        await start.until;
        told.push('hil has started');
      },
    });
    const open = openServices(processOf([proxy, ledger, hil]));
    while (!told.includes('hil listens')) await turn();
    expect(told).toEqual(['ledger begins to listen', 'hil begins to listen', 'hil listens']);
    listen.letGo();
    while (!told.includes('ledger listens')) await turn();
    await turn();
    expect(told).not.toContain('proxy begins to listen');
    start.letGo();
    expect([...(await open).ports.keys()]).toEqual(['hil', 'ledger', 'proxy']);
    expect(told.slice(-3)).toEqual(['hil has started', 'proxy begins to listen', 'proxy listens']);
    told = [];
    await undo.all(logger);
    expect(told[0]).toBe('proxy closes');
    expect(told.toSorted()).toEqual(['hil closes', 'ledger closes', 'proxy closes']);
  });

  it('are asked by nobody once they are closed: identity stands until what asks it whom somebody stopped has ended', async () => {
    const asking = declared('proxy', {
      ...listening('proxy'),
      async open({ onStop }) {
        onStop('sweeps', 'the watch over revocations', async () => void told.push('the watch ends'));
        onStop('worker', 'the worker', async () => void told.push('the worker ends'));
        return {};
      },
    });
    await openServices(
      processOf([
        declared('identity', listening('identity'), { stopsIn: 'identity' }),
        asking,
        declared('hil', listening('hil')),
      ]),
    );
    told = [];
    await undo.all(logger);
    expect(told.slice(-3)).toEqual(['the worker ends', 'the watch ends', 'identity closes']);
  });

  it('begin what nobody waits for when they are told to, not before', async () => {
    const { begin } = await openServices(processOf([declared('brain', { begin: () => void told.push('begun') })]));
    expect(told).toEqual([]);
    begin();
    expect(told).toEqual(['begun']);
  });

  it('have the stores that they declare, and no other', async () => {
    const targets: unknown[] = [];
    const opens = (store: string) =>
      openServices(
        processOf([
          declared(
            'ledger',
            {
              async open({ storeTarget }) {
                targets.push(storeTarget(store));
                return {};
              },
            },
            { stores: ['ledger'] },
          ),
        ]),
      );
    await opens('ledger');
    await expect(opens('calls')).rejects.toThrow('ledger does not declare the store calls');
    expect(targets).toEqual([{ file: '/stores/ledger' }]);
  });

  it('are all waited for when one cannot be opened: what the others opened is undone, and what they need is there until then', async () => {
    const slow = held();
    const ledger = declared('ledger', {
      async open({ onStop }) {
        await slow.until;
        onStop('stores', 'the ledger store', async () => void told.push('the store closes'));
        told.push('the store is open');
        return {};
      },
    });
    const hil = declared('hil', { open: () => Promise.reject(new StartError('hil: no key')) });
    const open = openServices(processOf([ledger, hil], { givingUp: () => void told.push('giving up') })).catch(
      (error: Error) => void told.push(error.message),
    );
    while (!told.includes('giving up')) await turn();
    await turn();
    expect(told).toEqual(['giving up']);
    slow.letGo();
    await open;
    expect(told).toEqual(['giving up', 'the store is open', 'hil: no key']);
    await undo.all(logger);
    expect(told.at(-1)).toBe('the store closes');
  });

  it('are waited for when one cannot start, and agents are not let in', async () => {
    const slow = held();
    const open = openServices(
      processOf([
        declared('proxy', listening('proxy'), { calledBy: 'agents' }),
        declared('brain', { start: () => Promise.reject(new StartError('brain: no model')) }),
        declared('hil', {
          async start() {
            await slow.until;
            told.push('hil has started');
          },
        }),
      ]),
    ).catch((error: Error) => void told.push(error.message));
    for (let turns = 0; turns < 5; turns += 1) await turn();
    expect(told).toEqual([]);
    slow.letGo();
    await open;
    expect(told).toEqual(['hil has started', 'brain: no model']);
  });

  it('wait for no certificate of an identity that cannot listen: the start ends with its reason', async () => {
    const identity = declared(
      'identity',
      listening('identity', () => Promise.reject(new StartError('its port is taken'))),
      { certifies: true },
    );
    const ledger = declared('ledger', listening('ledger'));
    const workload = {
      tls: {} as TlsMaterial,
      startAt: () => Promise.resolve(),
      startBy: () => Promise.resolve(),
      observe: () => undefined,
      close: () => Promise.resolve(),
    };
    await expect(openServices(processOf([identity, ledger], { workloadOf: () => workload }))).rejects.toThrow(
      'its port is taken',
    );
    expect(told).not.toContain('ledger begins to listen');
  });

  it('are not opened further for a process that is to end', async () => {
    const stop = new AbortController();
    const proxy = declared(
      'proxy',
      { ...listening('proxy'), start: async () => stop.abort(new StartError('stopped')) },
      { calledBy: 'agents' },
    );
    await expect(openServices(processOf([proxy], { signal: stop.signal }))).rejects.toThrow('stopped');
    expect(told).toEqual([]);
  });

  it.each([
    ['EADDRINUSE', 'port 8081 of the brain is in use by another process; free it or set GATE_BRAIN_PORT'],
    ['EACCES', 'port 8081 of the brain may not be opened by this user; free it or set GATE_BRAIN_PORT'],
  ])('say which setting holds a port that cannot be had: %s', async (code, words) => {
    const refused = () => Promise.reject(Object.assign(new Error('listen'), { code, port: 8081 }));
    await expect(openServices(processOf([declared('brain', listening('brain', refused))]))).rejects.toThrow(words);
    await undo.all(logger);
    expect(told.at(-1)).toBe('brain closes');
  });

  it('without a listener have their metrics shown by the service beside them; apart, by themselves', async () => {
    const counting = (name: string, more: Partial<Declared> = {}) =>
      declared(
        name,
        {
          async open({ registry }) {
            new Counter({ name: `gate_${name}_total`, help: name, registers: [registry] });
            shown.set(name, () => registry.metrics());
            return {};
          },
        },
        more,
      );
    const shown = new Map<string, () => Promise<string>>();
    const [ledger, worker, brain] = [
      counting('ledger'),
      counting('worker', { metricsBeside: 'ledger', calledBy: 'probes' }),
      counting('brain'),
    ];
    await openServices(processOf([ledger, worker, brain]));
    const metrics = await shown.get('ledger')?.();
    expect(metrics).toContain('gate_worker_total');
    expect(metrics).toContain('gate_ledger_total');
    expect(metrics).toContain('process_cpu_seconds_total');
    expect(metrics).not.toContain('gate_brain_total');
    await openServices(processOf([worker], { together: false }));
    expect(await shown.get('worker')?.()).not.toContain('gate_ledger_total');
  });
});

describe('a neighbour', () => {
  const asks = (neighbour: Declared, how: (opening: Opening<never>) => Promise<unknown>) =>
    declared(
      'proxy',
      {
        async open(opening) {
          told.push(String(await how(opening)));
          return {};
        },
      },
      { neighbours: [neighbour] },
    );

  it('in the same process is waited for and asked directly, and opened once for all that ask', async () => {
    let opened = 0;
    const brain = declared('brain', {
      async open() {
        opened += 1;
        await turn();
        return {};
      },
    });
    const proxy = asks(brain, ({ neighbour }) => neighbour(brain));
    await openServices(processOf([proxy, { ...proxy, name: 'worker' }, brain]));
    expect(told).toEqual(['the port of brain', 'the port of brain']);
    expect(opened).toBe(1);
  });

  it('that is ready only where it says so', async () => {
    const brain = declared('brain', { ready: () => Promise.reject(new Error('brain: no model')) });
    const proxy = asks(brain, async ({ readinessOf }) =>
      Promise.resolve(readinessOf(brain)()).catch((error: Error) => error.message),
    );
    await openServices(processOf([proxy, brain]));
    expect(told).toEqual(['brain: no model']);
  });

  it('apart that answers nobody is a mistake of the declaration, and said', async () => {
    const brain = declared('brain', {});
    const proxy = asks(brain, ({ neighbour }) => neighbour(brain));
    await expect(openServices(processOf([proxy], { together: false }))).rejects.toThrow(
      'proxy asks brain, which it does',
    );
  });

  describe('apart', () => {
    let folder: string;
    let pki: TestPki;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'gate-neighbours-'));
      pki = await ensureTestPki({ stateDir: folder, trustDomain: 'gate.local' });
    });
    afterEach(() => rm(folder, { recursive: true, force: true }));

    const brain = declared(
      'brain',
      {},
      {
        remote: async () => ({
          connect: ({ fetch, url }) => `over ${url}: ${typeof fetch}`,
          answers: async (_port, { fetch, url }) => (await fetch(`${url}/health`, { method: 'GET' })).status,
        }),
      },
    );
    /** Readiness of the neighbour, which shows the certificate of `as`. */
    async function readiness(as: 'brain' | 'proxy' | 'ledger', neighbour = brain): Promise<unknown> {
      const service = bareService({ name: 'brain', tls: { ...pki.services[as], clientCertificate: 'required' } });
      service.app.get('/health', () => ({ status: 'ok' }));
      const local = '127.0.0.1';
      const { port } = await service.listen({ host: local, port: 0, healthHost: local, healthPort: 0 });
      const proxy = asks(neighbour, async ({ readinessOf }) =>
        Promise.resolve(readinessOf(neighbour)()).then(
          () => 'ready',
          (error: Error) => error.message,
        ),
      );
      try {
        await openServices(
          processOf([proxy], {
            together: false,
            tlsOf: () => pki.services.proxy,
            addressOf: () => `https://127.0.0.1:${port}`,
          }),
        );
        return told.at(-1);
      } finally {
        await undo.all(logger);
        await service.close();
      }
    }

    it('is asked over mutual TLS under its own SPIFFE id', async () => {
      expect(await readiness('brain')).toBe('ready');
    });

    it.each(['proxy', 'ledger'] as const)('is not believed where it shows the certificate of the %s', async (as) => {
      expect(await readiness(as)).toMatch(/spiffe:\/\/gate\.local\/service\/brain/);
    });
  });
});
