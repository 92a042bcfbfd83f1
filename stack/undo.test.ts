import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { STOP_PHASES } from '../api/plugins/declaration.js';
import { Undo } from './undo.js';

const silent = pino({ level: 'silent' });

describe('what a start has done', () => {
  it('is undone phase after phase, whatever the order in which it came, and backwards within a phase', async () => {
    const undo = new Undo();
    const undone: string[] = [];
    const step = (phase: (typeof STOP_PHASES)[number], what: string) =>
      undo.push(phase, what, async () => void undone.push(what));
    step('stores', 'the first store');
    step('engine', 'the engine');
    step('entry', 'the door');
    step('stores', 'the second store');
    step('worker', 'the worker');
    await undo.all(silent);
    expect(undone).toEqual(['the door', 'the worker', 'the second store', 'the first store', 'the engine']);
    await undo.all(silent);
    expect(undone).toHaveLength(5);
  });

  it('refuses agents first, finishes calls before it lets go of stores, and of stores before the engine', () => {
    const place = (phase: (typeof STOP_PHASES)[number]) => STOP_PHASES.indexOf(phase);
    expect(place('entry')).toBe(0);
    expect(place('worker')).toBeLessThan(place('upstream'));
    expect(place('worker')).toBeLessThan(place('probes'));
    expect(place('stores')).toBeLessThan(place('engine'));
    expect(STOP_PHASES.at(-1)).toBe('folder');
  });

  it('is gone on with when a step fails or takes too long', async () => {
    const undo = new Undo();
    const undone: string[] = [];
    undo.push('folder', 'last', async () => void undone.push('last'));
    undo.push('stores', 'hangs', () => new Promise(() => undefined), 20);
    undo.push('entry', 'fails', () => Promise.reject(new Error('no')));
    await undo.all(silent);
    expect(undone).toEqual(['last']);
  });

  it('is undone at once when it comes after all the rest was', async () => {
    const undo = new Undo();
    await undo.all(silent);
    let closed = false;
    undo.push('upstream', 'what was on its way', async () => void (closed = true));
    await Promise.resolve();
    expect(closed).toBe(true);
  });
});
