// Shared by the packages of this repository; outside semver.
export { HOST_LENGTH_MAX, isHost } from '../host.ts';
export { isInteger } from '../is-integer.ts';
export { isObject } from '../is-object.ts';
export { isName, isText, NAME_RULE } from '../name-text.ts';
export { stringOrNull } from '../string-or-null.ts';
export { validateRegistration, validateReport } from '../validate-registration.ts';
export { offAbort, onAbort, withAnySignal } from './abort-listeners.ts';
export { Backoff, type BackoffOptions } from './backoff.ts';
export { callOut } from './call-out.ts';
export { type Clock, clearImmediate, type Random, setImmediate, systemClock, type TimerHandle } from './clock.ts';
export { FrameHeads } from './frame-head.ts';
export { type Cell, type MachineTable, printMachine, type Step, step } from './machine.ts';
export { nearestName } from './nearest-name.ts';
export { inNeutralContext } from './neutral-context.ts';
export {
	booleanOption,
	durationMsOption,
	fractionOption,
	integerOption,
	knownMembers,
	oneOfOption,
	signalOption,
	stringOption,
	wrongType,
} from './option-validators.ts';
export { showAs } from './show-as.ts';
export { TextMemo, type TextMemoOptions } from './text-memo.ts';
