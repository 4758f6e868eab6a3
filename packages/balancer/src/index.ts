export { createPicker, type PickerOptions, pickerOver } from './create-picker.ts';
export { explain, inspectionOf } from './explain.ts';
export { type CallOutcome, callOutcomes, type EjectionRules, InstanceRecord } from './instance-record.ts';
export {
	type BalancingPolicy,
	balancingPolicies,
	DEFAULT_POLICY,
	needsRecords,
	type Picker,
	type PickOptions,
} from './picker.ts';
export { type Spared, servedInstances, spareEjected } from './served-instances.ts';
export { noInstanceError, toAddress } from './service-answer.ts';
