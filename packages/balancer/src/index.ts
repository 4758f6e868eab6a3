export { balancingPolicies, createPicker, DEFAULT_POLICY, type PickerOptions } from './create-picker.ts';
export { explainSnapshot } from './explain-snapshot.ts';
export { noInstanceError } from './no-instance-error.ts';
export type { BalancingPolicy, Picker, PickOptions } from './picker.ts';
export { toAddress } from './to-address.ts';
