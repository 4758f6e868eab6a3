export {
	type BackendFixture,
	type BackendTraits,
	backendContract,
	type ContractCase,
	type ContractInstance,
} from './backend-contract.ts';
