export { backendContract } from './backend-contract.ts';
export type { BackendFixture, BackendTraits, ContractCase, ContractInstance } from './bench.ts';
