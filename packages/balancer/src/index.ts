export { explain, inspectionOf } from './explain.ts';
export { type CallOutcome, callOutcomes, type EjectionRules, InstanceRecord } from './instance-record.ts';
export {
	createPicker,
	type Picker,
	type PickerOptions,
	type PickOptions,
	pickerOver,
	plannedPicker,
} from './pickers.ts';
export { type BalancingPolicy, balancingPolicies, DEFAULT_POLICY, needsRecords } from './policies.ts';
export { noInstanceError, type Spared, servedInstances, spareEjected, toAddress } from './served-instances.ts';
export {
	explainPlan,
	planWork,
	type WorkGroup,
	type WorkPlan,
	type WorkRules,
	type ZonePolicy,
	type ZoneShare,
	zonePolicies,
} from './work-plan.ts';
