export { explain, inspectionOf } from './explain.ts';
export { type CallOutcome, callOutcomes, type EjectionRules, InstanceRecord } from './instance-record.ts';
export {
	type BalancingPolicy,
	balancingPolicies,
	createPicker,
	DEFAULT_POLICY,
	needsRecords,
	type Picker,
	type PickerOptions,
	type PickOptions,
	pickerOver,
} from './pickers.ts';
export { noInstanceError, type Spared, servedInstances, spareEjected, toAddress } from './served-instances.ts';
