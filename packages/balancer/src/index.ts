export { balancingPolicies, createPicker, DEFAULT_POLICY, type PickerOptions } from './create-picker.ts';
export { explain, inspectionOf } from './explain.ts';
export { noInstanceError } from './no-instance-error.ts';
export type { BalancingPolicy, Picker, PickOptions } from './picker.ts';
export { toAddress } from './to-address.ts';
