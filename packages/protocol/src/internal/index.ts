// Shared by the packages of this repository; outside semver.
export { Backoff, type BackoffOptions } from './backoff.ts';
export { type Clock, type Random, systemClock, type TimerHandle } from './clock.ts';
export { type Cell, type MachineTable, printMachine, type Step, step } from './machine.ts';
export {
	booleanOption,
	durationMsOption,
	integerOption,
	oneOfOption,
	signalOption,
	stringOption,
} from './option-validators.ts';
