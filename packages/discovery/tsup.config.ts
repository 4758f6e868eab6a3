import { packageConfig } from '../../tsup.base.ts';

export default packageConfig({ index: 'src/index.ts', 'contract/index': 'src/contract/index.ts' });
