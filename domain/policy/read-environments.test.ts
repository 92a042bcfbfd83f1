import { describe, expect, it } from '@jest/globals';
import { TookTooLong } from '../in-place.js';
import { readEnvironments } from './read-environments.js';

const read = (given: unknown) => readEnvironments(given, ['target_env', 'environment']);

describe('what arguments say of the environment', () => {
  it.each([
    [{ target_env: 'prod' }, ['prod']],
    [{ TargetEnv: 'prod' }, ['prod']],
    [{ 'target-envs ': 'prod' }, ['prod']],
    [{ a: [{ b: { environment: 'prod' } }] }, ['prod']],
    [{ params: [{ name: 'environment', value: 'prod' }] }, ['prod']],
    [{ body: '{"rows":"[{\\"target_env\\":\\"prod\\"}]"}' }, ['prod']],
    [{ environment: 'ｐｒоd' }, ['prod']],
    [{ environment: 'a', x: { environment: 'b' } }, ['a', 'b']],
    [{ environment: ['prod'] }, [null]],
    [{ environment: null }, [null]],
    [{ environment: { value: 'staging' } }, [null]],
    [{ environment: 'x'.repeat(257) }, [null]],
    [{ path: 'prod', environmental: 'prod', name: 'environment' }, []],
    [{}, []],
    [undefined, []],
  ])('is each text once, and null where it is no text: %j', (given, said) => {
    expect(read(given)).toEqual(said);
  });

  it('is null beyond so many', () => {
    const said = read(Array.from({ length: 100 }, (_, at) => ({ environment: `e${at}` })));
    expect(said).toHaveLength(65);
    expect(said).toContain(null);
  });

  it('is read within the time that is given', () => {
    const over = () => {
      throw new TookTooLong('over');
    };
    expect(() => readEnvironments(Array(5_000).fill({ x: 1 }), ['env'], over)).toThrow(TookTooLong);
  });
});
