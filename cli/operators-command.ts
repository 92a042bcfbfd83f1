import type { Command } from 'commander';
import type { LiteFlags } from './lite-target.js';
import { json } from './output.js';
import { decideToken, endpoint, operatorTarget } from './target.js';

/** What an operator says with each of these commands. */
export interface Asked extends LiteFlags {
  readonly json?: boolean;
}

/** Asks whoever keeps calls, classes and pins: the proxy in the full edition, the one process of lite. */
export const askProxy = <T>(given: LiteFlags, method: string, path: string, body?: object): Promise<T> =>
  operatorTarget(given).ask<T>('proxy', method, path, body);

/** The command with the options that say where Gate is and who asks; `whose` completes the meaning of `--tenant`. */
export const withTarget = (command: Command, whose: string): Command =>
  command
    .addOption(endpoint())
    .addOption(decideToken())
    .option('--tenant <name>', `whose ${whose}; needed where the token stands for several tenants`)
    .addOption(json());
