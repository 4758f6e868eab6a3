import { run } from './calls.mjs';

void run();
