import { describe, expect, it } from '@jest/globals';
import { SHELL_ACTS, type ShellAct, shellActOf } from './acts.js';

const ACTS = Object.keys(SHELL_ACTS) as ShellAct[];

describe('what a command does', () => {
  it('has words of its own, so that a rule that quotes them means one act', () => {
    expect(new Set(ACTS.map((act) => shellActOf(act).says)).size).toBe(ACTS.length);
  });

  it('is mild, or a removal, by what it is and not by the words for it', () => {
    expect(ACTS.filter((act) => shellActOf(act).isMild)).toEqual([
      'data_sent',
      'port_opened',
      'secrets_read',
      'system_set',
      'network_set',
      'schedule_changed',
      'queue_changed',
      'request_changes',
      'repository_changed',
      'service_changed',
    ]);
    expect(ACTS.filter((act) => shellActOf(act).removes)).toEqual(['root_removed', 'files_removed']);
  });
});
