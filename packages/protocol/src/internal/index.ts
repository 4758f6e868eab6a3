// Shared by the packages of this repository; outside semver.
export { isInteger } from '../is-integer.ts';
export { isObject } from '../is-object.ts';
export { stringOrNull } from '../string-or-null.ts';
export { Backoff, type BackoffOptions } from './backoff.ts';
export { callOut } from './call-out.ts';
export { type Clock, type Random, systemClock, type TimerHandle } from './clock.ts';
export { FrameHeads } from './frame-head.ts';
export { type Cell, type MachineTable, printMachine, type Step, step } from './machine.ts';
export {
	booleanOption,
	durationMsOption,
	fractionOption,
	integerOption,
	knownMembers,
	oneOfOption,
	signalOption,
	stringOption,
} from './option-validators.ts';
export { TextMemo, type TextMemoOptions } from './text-memo.ts';
