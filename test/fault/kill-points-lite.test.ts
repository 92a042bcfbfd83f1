import { describeKillPoints } from './kill-table.js';

describeKillPoints("the kill-point table on lite's own process, behind its listener", 'lite', 3, 'lite-process');
