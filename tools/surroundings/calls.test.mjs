// Run by Vitest as it is, and by Jest as CommonJS.
import { run } from './calls.mjs';

test('the calls', () => run(), 60_000);
