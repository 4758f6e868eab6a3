import { recordUnhandled } from './check/problem.ts';
import { type Work, work } from './work.ts';

// One process of `fuzz`: it tells of its progress, then of its end.
process.on('unhandledRejection', recordUnhandled);
// Most frames are wrong on purpose: a stack for each of their errors would be a third of the time.
Error.stackTraceLimit = 0;
process.once('disconnect', () => process.exit());
const done = await work(JSON.parse(process.argv[2] ?? '') as Work, (frames) => process.send?.({ frames }));
process.send?.({ done }, () => process.disconnect());
