import { describe, expect, it } from '@jest/globals';
import { buildProgress } from './build-progress.js';

describe('how far a build with go is', () => {
  it('fetches sources, then compiles, then links; the time left is that of the pace so far', () => {
    const progress = buildProgress(100);
    expect(progress.line(1_000)).toBe('using what Go has of it already, 1 s so far');
    for (let module = 0; module < 40; module += 1)
      progress.read(`go: downloading example.org/m${module} v1.0.0`, 5_000);
    expect(progress.line(10_000)).toBe('step 1 of 3, fetching sources: 40 modules, 10 s so far');

    progress.read('internal/goarch', 10_000);
    expect(progress.line(11_000)).toBe('step 2 of 3, compiling: 1 of 100 packages, 11 s so far');
    for (let compiled = 1; compiled < 50; compiled += 1) progress.read(`example.org/m/p${compiled}`, 20_000);
    expect(progress.line(60_000)).toBe('step 2 of 3, compiling: 50 of 100 packages, 60 s so far, at most 50 s left');
    for (let compiled = 50; compiled < 100; compiled += 1) progress.read(`example.org/m/p${compiled}`, 100_000);
    expect(progress.line(125_000)).toBe('step 3 of 3, linking: 2 min 5 s so far, a few seconds left');
  });

  it('counts neither complaints nor blank lines as packages', () => {
    const progress = buildProgress(10);
    for (const line of ['', 'go: no such module', '# example.org/broken', 'x.go:1:2: undefined: y'])
      progress.read(line, 1_000);
    expect(progress.line(2_000)).toBe('using what Go has of it already, 2 s so far');
  });
});
