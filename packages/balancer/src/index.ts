export { type CallOutcome, callOutcomes } from './call-outcome.ts';
export {
	balancingPolicies,
	createPicker,
	DEFAULT_POLICY,
	needsRecords,
	type PickerOptions,
	pickerOver,
} from './create-picker.ts';
export { explain, inspectionOf } from './explain.ts';
export { type EjectionRules, InstanceRecord } from './instance-record.ts';
export { noInstanceError } from './no-instance-error.ts';
export type { BalancingPolicy, Picker, PickOptions } from './picker.ts';
export { servedInstances } from './served-instances.ts';
export { type Spared, spareEjected } from './spare-ejected.ts';
export { toAddress } from './to-address.ts';
