import { packageConfig } from '../../tsup.base.ts';

export default packageConfig({
	index: 'src/index.ts',
	'node/index': 'src/node/index.ts',
	'internal/index': 'src/internal/index.ts',
});
