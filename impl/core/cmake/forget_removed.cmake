# Clears the cached path in `variable` once the file is gone, so that the next configuration looks again.
function(diopigen_forget_removed variable)
    if(${variable} AND NOT EXISTS "${${variable}}")
        unset(${variable} CACHE)
    endif()
endfunction()
