"""Let readers explore the cells of a study on the report's page, with Vega-Lite, without a network.

Python puts the numbers into the page: `selection` says which cells, `spread` computes how each varies over its
replications, `table` makes columns of it, `packing` compresses them, and `section` renders the section. Scripts in
`js` draw what readers choose. `vega` has the libraries that they draw with, their licences, and how to build them.

Texts of a store reach the page as compressed data, and the drawing as values of data, never as a part of a
specification that is interpreted: names of fields are fixed, and Vega runs without `eval`, by its interpreter.
"""
