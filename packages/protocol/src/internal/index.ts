// Shared by the packages of this repository; outside semver.

export { memberText, withPayloadText } from '../events/member-text.ts';
export { DOCUMENTATION } from '../foundation/documentation.ts';
export { causesOf, type ErrorLike, messageOf } from '../foundation/error-message.ts';
export { HOST_LENGTH_MAX, isHost } from '../foundation/host.ts';
export { formatHostPort, type HostPort, isIpv6, splitHostPort, withBrackets } from '../foundation/host-port.ts';
export { nameHint, nearestName } from '../foundation/nearest-name.ts';
export { isInteger, isName, isObject, isText, NAME_RULE, showAs, stringOrNull } from '../foundation/values.ts';
export { FrameHeads } from '../frames/frame-encoder.ts';
export { validateRegistration, validateReport } from '../messages/validate-registration.ts';
export {
	hasConditions,
	isSameScope,
	type QueryMember,
	type QueryMemberName,
	queryLabel,
	queryMembers,
	queryPhrase,
	readQuery,
	scopeKey,
	scopeOf,
} from '../model/query.ts';
export { offAbort, onAbort, withAnySignal } from './abort-listeners.ts';
export { type AgeClock, ageClockOf, STANDSTILL_MS, type Standstill } from './age-clock.ts';
export { Backoff, type BackoffOptions } from './backoff.ts';
export {
	type Clock,
	callOut,
	clearImmediate,
	inNeutralContext,
	type Random,
	setImmediate,
	systemClock,
	type TimerHandle,
} from './clock.ts';
export { isFinal } from './final-failure.ts';
export { isError } from './is-error.ts';
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
	wrongType,
} from './option-validators.ts';
export { shellWord } from './shell-word.ts';
export { TextMemo, type TextMemoOptions } from './text-memo.ts';
