import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createEngineCircuit, type EngineCircuit } from './circuit.js';
import { engineNews } from '../stack/engine-news.js';
import { type Life, supervise, type Supervised, type SupervisedOptions } from './supervisor.js';
import { eventually, timePasses } from '../test/support/waiting.js';

/** A part whose lives end when the test says so. */
function part(fail: (start: number) => Error | null = () => null) {
  const lives: { end(how: string): void; stopped: boolean; limitMs?: number | undefined }[] = [];
  let starts = 0;
  const said: string[] = [];
  const start = async (): Promise<Life<number>> => {
    starts += 1;
    const fault = fail(starts);
    if (fault) throw fault;
    let end: (how: string) => void = () => undefined;
    const ended = new Promise<string>((resolve) => (end = resolve));
    const life: (typeof lives)[number] = { end, stopped: false };
    lives.push(life);
    return {
      handle: starts,
      ended,
      stop: async (limitMs) => {
        life.stopped = true;
        life.limitMs = limitMs;
        end('SIGTERM');
      },
    };
  };
  const options: SupervisedOptions<number> = {
    name: 'the engine',
    start,
    say: (line) => said.push(line),
    limits: { firstPauseMs: 10 },
  };
  return { lives, said, options, starts: () => starts };
}

describe('a supervised part', () => {
  let supervised: Supervised<number> | undefined;
  afterEach(() => supervised?.stop());

  it('is started again when it ends, and says so in one line each', async () => {
    const { lives, said, options } = part();
    supervised = await supervise(options);
    expect(supervised.current()).toBe(1);
    lives[0]?.end('SIGKILL');
    await eventually('it is back', () => supervised?.current() === 2 && said.length === 2);
    expect(said).toEqual([
      'the engine ended (SIGKILL); it is started again, and calls are answered 503 until it is back',
      expect.stringMatching(/^the engine is back after \d+\.\d s; calls go on$/),
    ]);
  });

  it('is not up, by name and reason, until it is back', async () => {
    let resume: (() => void) | undefined;
    const { lives, options } = part();
    supervised = await supervise({ ...options, ready: () => new Promise((resolve) => (resume = resolve)) });
    lives[0]?.end('exit code 3');
    const isReady = await eventually('the next one is asked whether it is ready', () => resume);
    expect(() => supervised?.assertUp()).toThrow('the engine ended (exit code 3); it is being started again');
    expect(supervised.current()).toBeNull();
    isReady();
    await eventually('it is back', () => supervised?.current() !== null);
    supervised.assertUp();
  });

  it('says one line for an outage, however many starts it takes', async () => {
    const { lives, said, options } = part((start) => (start === 2 || start === 3 ? new Error('no port') : null));
    supervised = await supervise(options);
    lives[0]?.end('SIGKILL');
    await eventually('it is back', () => supervised?.current() === 4 && said.length > 1);
    expect(said).toHaveLength(2);
  });

  it('is given up when it ends five times within a minute, with the last reason', async () => {
    const { lives, options, starts } = part((start) => (start > 1 ? new Error('the disk is full') : null));
    supervised = await supervise(options);
    lives[0]?.end('SIGKILL');
    await expect(supervised.finished).rejects.toThrow(
      'the engine cannot be kept up: it ended 5 times within 60 s, at last with: the disk is full',
    );
    expect(starts()).toBe(5);
  });

  it('is kept up for ever when it ends now and then', async () => {
    const { lives, options, starts } = part();
    supervised = await supervise({ ...options, limits: { firstPauseMs: 1, windowMs: 1 } });
    for (let life = 0; life < 8; life += 1) {
      lives[life]?.end('SIGKILL');
      await eventually('its next life', () => starts() === life + 2 && lives.length === life + 2);
    }
    expect(starts()).toBe(9);
  });

  it('what its first start throws is thrown to whoever starts it', async () => {
    await expect(supervise(part(() => new Error('port 7233 is taken')).options)).rejects.toThrow('port 7233 is taken');
  });

  it('ends with its stop and is started no more, also in the pause before its next start and while it starts', async () => {
    const running = part();
    await (await supervise(running.options)).stop();
    expect(running).toMatchObject({ said: [], lives: [{ stopped: true }] });

    const pausing = part((start) => (start > 1 ? new Error('not yet') : null));
    const paused = await supervise({ ...pausing.options, limits: { firstPauseMs: 60_000 } });
    pausing.lives[0]?.end('SIGKILL');
    await eventually('its second start', () => pausing.starts() === 2);
    await paused.stop();
    await paused.finished;
    expect(pausing.starts()).toBe(2);

    const starting = part();
    let proceed: (() => void) | undefined;
    const slow = await supervise({
      ...starting.options,
      start: async (signal) => {
        if (starting.starts() > 0) await new Promise<void>((resolve) => (proceed = resolve));
        return starting.options.start(signal);
      },
    });
    starting.lives[0]?.end('SIGKILL');
    const goOn = await eventually('its next start', () => proceed);
    const stopped = slow.stop();
    goOn();
    await stopped;
    expect(starting.lives.map((life) => life.stopped)).toEqual([false, true]);
  });

  it('one that runs and does nothing is ended for another, and the line says why', async () => {
    const { lives, said, options } = part();
    supervised = await supervise(options);
    await supervised.renew('it did not answer for 30 s', 1_000);
    await eventually('another one', () => supervised?.current() === 2);
    expect(lives[0]).toMatchObject({ stopped: true, limitMs: 1_000 });
    expect(supervised.current()).toBe(2);
    expect(said[0]).toContain('ended (it did not answer for 30 s)');
  });
});

describe('the circuit before the engine', () => {
  let circuit: EngineCircuit | undefined;
  afterEach(() => circuit?.close());
  const refusal = { status: 503, code: 'pipeline_unavailable', fields: { layer: 'engine' } };

  it('refuses at once while the engine is known to be away, and lets through when a probe is answered', async () => {
    let down = false;
    const changes: (string | null)[] = [];
    circuit = createEngineCircuit({
      probe: async () => {
        if (down) throw Object.assign(new Error('refused'), { code: 14 });
      },
      onChange: (away) => changes.push(away && away.reason),
    });
    circuit.assertUp();
    down = true;
    circuit.suspect();
    await eventually('the probe that fails', () => circuit?.away());
    expect(() => circuit?.assertUp()).toThrow(expect.objectContaining(refusal));
    const back = circuit.up();
    down = false;
    await back;
    circuit.assertUp();
    expect(changes).toEqual(['it cannot be reached', null]);
  });

  it('believes whoever started the engine that it ended, before any probe', () => {
    circuit = createEngineCircuit({ probe: () => Promise.resolve() });
    circuit.lost('it ended: SIGKILL');
    expect(() => circuit?.assertUp()).toThrow(expect.objectContaining(refusal));
    expect(circuit.away()).toMatchObject({ reason: 'it ended: SIGKILL' });
  });

  it('one missed deadline is a busy machine, two in a row are an engine that hangs', async () => {
    let late = 1;
    circuit = createEngineCircuit({
      probe: async () => {
        late -= 1;
        if (late >= 0) throw Object.assign(new Error('late'), { code: 4 });
      },
    });
    circuit.suspect();
    await eventually('the missed deadline', () => late <= 0);
    await timePasses(60, 'it would be said to be away');
    circuit.assertUp();
    late = 2;
    circuit.suspect();
    await eventually('the second missed deadline', () => circuit?.away());
    expect(circuit.away()).toMatchObject({ reason: 'it does not answer in time' });
  });

  it('lets whoever already waits for an answer leave as soon as the engine goes, and whoever has one keep it', async () => {
    circuit = createEngineCircuit({ probe: () => Promise.resolve() });
    await expect(circuit.whileUp(Promise.resolve('done'))).resolves.toBe('done');
    await expect(circuit.whileUp(Promise.reject(new Error('its own')))).rejects.toThrow('its own');
    let late: (error: Error) => void = () => undefined;
    const waiting = circuit.whileUp(new Promise((_resolve, reject) => (late = reject)));
    circuit.lost('it ended: SIGKILL');
    await expect(waiting).rejects.toMatchObject(refusal);
    // What becomes of the work afterwards is nobody's fault.
    late(new Error('deadline'));
    await expect(circuit.whileUp(new Promise(() => undefined))).rejects.toMatchObject(refusal);
  });

  it('lets nobody wait for an engine that a stop has given up', async () => {
    circuit = createEngineCircuit({ probe: () => Promise.reject(new Error('refused')) });
    circuit.lost('it ended');
    const waiting = circuit.up();
    circuit.close();
    await expect(waiting).rejects.toThrow('the stop has begun');
  });
});

describe('what the terminal says of the engine', () => {
  const away = { reason: 'it does not answer in time', sinceMs: 0 };
  const upNow = { current: () => 1 } as unknown as Supervised<unknown>;
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  function news() {
    const said: string[] = [];
    const logged: string[] = [];
    const told = engineNews({ say: (line) => said.push(line), log: (line) => logged.push(line), engine: () => upNow });
    return { said, logged, told };
  }

  it('a hang that is ended for another start: one line when it goes, one when it answers; the rest is in the log', () => {
    const { said, logged, told } = news();
    told.onChange(away, 0);
    jest.advanceTimersByTime(2_000);
    told.supervisor('the workflow engine ended (it did not answer for 30 s); it is started again');
    told.supervisor('the workflow engine is back after 1.0 s; calls go on');
    told.onChange(null, 33_100);
    expect(said).toEqual([
      'the workflow engine is away (it does not answer in time); calls are answered 503 until it answers',
      'the workflow engine answers again after 33.1 s; calls go on',
    ]);
    expect(logged).toHaveLength(2);
  });

  it('a hang of 30 s is ended within a second, so that an engine that answers again is not ended after all', () => {
    const renewed: [string, number | undefined][] = [];
    const hung = {
      current: () => 1,
      renew: (why: string, limitMs?: number) => Promise.resolve(void renewed.push([why, limitMs])),
    } as unknown as Supervised<unknown>;
    const told = engineNews({ say: () => undefined, engine: () => hung });
    told.onChange(away, 0);
    jest.advanceTimersByTime(29_999);
    expect(renewed).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(renewed).toEqual([['it did not answer for 30 s', 1_000]]);
  });

  it('an end: the two lines of its supervisor, also when the new one answers late; the next hang is told again', () => {
    const { said, told } = news();
    told.onChange(away, 0);
    told.supervisor('ended');
    told.supervisor('is back');
    jest.advanceTimersByTime(2_500);
    told.onChange(null, 2_500);
    expect(said).toEqual(['ended', 'is back']);
    told.onChange(away, 0);
    jest.advanceTimersByTime(2_000);
    expect(said[2]).toContain('is away');
  });
});
