// What the scripts of the Explore section use, as `ckrrVega`.
export {View, parse, scheme} from "vega";
export {compile} from "vega-lite";
export {expressionInterpreter} from "vega-interpreter";
